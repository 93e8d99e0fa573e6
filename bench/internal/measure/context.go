package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// The material for the rows about context strategy full: the maximum size of the session's input file in bytes, and the
// number of files in the project.
const (
	contextBytes = 200 << 10
	contextFiles = 400
)

// briefs compares the time for context and prompt of strategy full with the target. The budget truncates the context.
func (b *bench) briefs(ctx context.Context) ([]table.Row, error) {
	label := fmt.Sprintf("context and prompt of an iteration with strategy full: %d KB given, %d files, up to %d outputs before it", contextBytes>>10, contextFiles, b.FullContext-1)
	return b.preparations(ctx, label, ground.FullContext("inside", b.FullContext), fill, b.FullContext-b.FullContext/2)
}

// contexts measures the time to prepare an iteration that many others precede.
func (b *bench) contexts(ctx context.Context) ([]table.Row, error) {
	label := fmt.Sprintf("context of an iteration with up to %d before it (U109)", b.History-1)
	nothing := func(string) error { return nil }
	return b.preparations(ctx, label, ground.Loop("inside", b.History), nothing, min(50, b.History))
}

// preparations compares the time before the calls of the agent in the last iterations of a pipeline with the target.
// fill writes files into the project.
func (b *bench) preparations(ctx context.Context, label, pipeline string, fill func(dir string) error, last int) ([]table.Row, error) {
	p, err := b.Project(pipeline)
	if err != nil {
		return nil, err
	}
	if err := fill(p.Dir); err != nil {
		return nil, err
	}
	var medians sample.Series
	for range b.rounds(5) {
		v, err := b.runInside(ctx, p, p.NewSession())
		if err != nil {
			return nil, err
		}
		times := sample.Series(v.preparations())
		medians = append(medians, times[len(times)-last:].Median())
	}
	return []table.Row{{Name: label, Ours: medians, Each: last, Peer: "target", Theirs: sample.Constant(contextTarget, len(medians))}}, nil
}

// fill creates the project's files.
func fill(dir string) error {
	const line = "This is one line of the request.\n"
	text := strings.Repeat(line, contextBytes/len(line))
	errs := []error{os.WriteFile(filepath.Join(dir, "request.md"), []byte(text), 0o600)}
	for i := range contextFiles {
		folder := filepath.Join(dir, "src", fmt.Sprintf("p%02d", i%20))
		errs = append(errs, os.MkdirAll(folder, 0o750), os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%03d.go", i)), []byte("package x\n"), 0o600))
	}
	return errors.Join(errs...)
}
