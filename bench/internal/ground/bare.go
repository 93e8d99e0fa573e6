package ground

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/bench/internal/bare"
)

// BareProcess is a gRPC server in a process of its own, with a client of it. The caller closes it.
type BareProcess struct {
	*bare.Client
	PID int

	command *exec.Cmd
	hold    io.Closer // the server lives until this is closed
	dir     string
}

// StartBare starts a server and waits until it listens. Its socket lies in a short directory, as that
// of a plugin does: the length of a socket's path is limited.
func (g *Ground) StartBare(ctx context.Context) (_ *BareProcess, err error) {
	dir, err := os.MkdirTemp("", "bare-")
	if err != nil {
		return nil, err
	}
	b := &BareProcess{dir: dir, command: exec.CommandContext(ctx, g.BareServer, filepath.Join(dir, "s"))}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // the first error is the one to tell
		}
	}()
	b.command.Env, b.command.Stderr = g.environment(), os.Stderr
	if b.hold, err = b.command.StdinPipe(); err != nil {
		return nil, err
	}
	said, err := b.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.command.Start(); err != nil {
		return nil, err
	}
	b.PID = b.command.Process.Pid
	_, err = bufio.NewReader(said).ReadString('\n')
	if err == nil {
		b.Client, err = bare.Dial(filepath.Join(dir, "s"))
	}
	if err != nil {
		_ = b.command.Process.Kill()
		return nil, fmt.Errorf("start %s: %w", g.BareServer, errors.Join(err, b.command.Wait()))
	}
	return b, nil
}

// Close ends the client and the server.
func (b *BareProcess) Close() error {
	return errors.Join(b.Client.Close(), b.hold.Close(), b.command.Wait(), os.RemoveAll(b.dir))
}
