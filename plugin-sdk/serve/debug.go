package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// attachment is the address of a running plugin process for a kernel: one member of the object in
// [wire.Reattach].
type attachment struct {
	Protocol string `json:"protocol"`
	Version  int    `json:"version"`
	PID      int    `json:"pid"`
	Addr     string `json:"addr"`
}

// debug serves kernels until SIGINT or SIGTERM, one after the other or several at once. Kernels
// find the process by the line that debug prints. No kernel starts, ends or monitors the process,
// so that a debugger may stop it.
func (s *server) debug(stdout, stderr io.Writer) int {
	dir, err := os.MkdirTemp("", "agent-plugin-debug-") // mode 0700
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv("PLUGIN_UNIX_SOCKET_DIR", dir) // directory of go-plugin's socket
	}
	if err != nil {
		fmt.Fprintf(stderr, "debug: %v\n", err)
		return exitInvalid
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ready, closed := make(chan *goplugin.ReattachConfig, 1), make(chan struct{})
	config := s.config(nil)
	config.Test = &goplugin.ServeTestConfig{Context: ctx, ReattachConfigCh: ready, CloseCh: closed}
	var serving sync.WaitGroup
	serving.Go(func() { goplugin.Serve(config) })
	defer serving.Wait()
	select {
	case r := <-ready:
		clearHandshake()
		s.announce(r, stdout, stderr)
	case <-closed:
		return exitInvalid // go-plugin has logged why
	}
	<-closed
	s.shutdownComponents()
	return exitOK
}

// announce prints the line to copy to stdout, and the explanation to stderr.
func (s *server) announce(r *goplugin.ReattachConfig, stdout, stderr io.Writer) {
	line, err := json.Marshal(map[string]attachment{s.description.Name: {
		Protocol: string(r.Protocol), Version: r.ProtocolVersion, PID: r.Pid, Addr: r.Addr.String(),
	}})
	if err != nil {
		fmt.Fprintf(stderr, "debug: %v\n", err)
		return
	}
	fmt.Fprintf(stderr, "agent-plugin-%s is served by this process (PID %d) until Ctrl-C. Set this where you run the pipeline:\n",
		s.description.Name, r.Pid)
	fmt.Fprintf(stdout, "%s='%s'\n", wire.Reattach, line)
}
