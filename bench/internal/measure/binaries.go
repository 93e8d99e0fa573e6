package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// binaries compares the sizes of the command and of all plugins with the size of a plain gRPC server. All are built
// with the flags of make build.
func (b *bench) binaries(ctx context.Context) ([]table.Row, error) {
	bare, err := size(b.Program("bareserver"))
	if err != nil {
		return nil, err
	}
	command, err := size(b.Command)
	if err != nil {
		return nil, err
	}
	row := func(label string, ours float64) table.Row {
		return table.Row{
			Name: "size of " + label, Unit: table.Bytes, Ours: sample.Series{ours}, Peer: "size of a bare gRPC server", Theirs: sample.Series{bare},
		}
	}
	rows := []table.Row{row("agent-pipelines", command)}
	modules, err := filepath.Glob(filepath.Join(b.Root, "plugins", "*", "go.mod"))
	if err == nil && len(modules) == 0 {
		err = errors.New("there are no plugins in the workspace")
	}
	if err != nil {
		return nil, err
	}
	dir, err := b.Dir("binaries")
	if err != nil {
		return nil, err
	}
	for _, m := range modules {
		name := filepath.Base(filepath.Dir(m))
		out := filepath.Join(dir, "agent-plugin-"+name)
		if err := b.Build(ctx, out, "./plugins/"+name); err != nil {
			return nil, err
		}
		n, err := size(out)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row(fmt.Sprintf("agent-plugin-%s", name), n))
	}
	return rows, nil
}

func size(file string) (float64, error) {
	info, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()), nil
}
