package ground

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/bench/internal/bare"
)

// BareProcess is a gRPC server in its own process with a client. The caller closes it.
type BareProcess struct {
	*bare.Client
	PID int

	server *heldProgram
	dir    string
}

// StartBare starts a server and waits until it listens. Its socket is in a directory with a short
// path, because the length of socket paths is limited.
func (g *Ground) StartBare(ctx context.Context) (_ *BareProcess, err error) {
	dir, err := os.MkdirTemp("", "bare-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // the first error is returned
		}
	}()
	socket := filepath.Join(dir, "s")
	server, err := g.hold(ctx, nil, g.Program("bareserver"), socket)
	if err != nil {
		return nil, err
	}
	b := &BareProcess{dir: dir, server: server, PID: server.PID}
	if err = server.ready(); err == nil {
		b.Client, err = bare.Dial(socket)
	}
	if err != nil {
		return nil, fmt.Errorf("start a gRPC server: %w", server.kill(err))
	}
	return b, nil
}

// Close ends the client and the server.
func (b *BareProcess) Close() error {
	return errors.Join(b.Client.Close(), b.server.Close(), os.RemoveAll(b.dir))
}
