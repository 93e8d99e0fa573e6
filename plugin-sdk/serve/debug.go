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

// attachment is how a kernel finds a plugin process that runs already: one member of the object in
// [wire.Reattach].
type attachment struct {
	Protocol string `json:"protocol"`
	Version  int    `json:"version"`
	PID      int    `json:"pid"`
	Addr     string `json:"addr"`
}

// debug serves kernels that are told of this process by the line that it prints, until it gets SIGINT or SIGTERM:
// one after the other or several at once. No kernel starts, ends or watches it, so that it may stand still in a
// debugger.
func (s *server) debug(stdout, stderr io.Writer) int {
	dir, err := os.MkdirTemp("", "agent-plugin-debug-") // mode 0700
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv("PLUGIN_UNIX_SOCKET_DIR", dir) // where go-plugin opens its socket
	}
	if err != nil {
		fmt.Fprintf(stderr, "debug: %v\n", err)
		return exitBroken
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
		forgetHandshake()
		s.announce(r, stdout, stderr)
	case <-closed:
		return exitBroken // go-plugin has logged why
	}
	<-closed
	s.shutdownComponents()
	return exitOK
}

// announce prints the line to copy, alone on stdout.
func (s *server) announce(r *goplugin.ReattachConfig, stdout, stderr io.Writer) {
	line, err := json.Marshal(map[string]attachment{s.description.Name: {
		Protocol: string(r.Protocol), Version: r.ProtocolVersion, PID: r.Pid, Addr: r.Addr.String(),
	}})
	if err != nil {
		fmt.Fprintf(stderr, "debug: %v\n", err)
		return
	}
	fmt.Fprintf(stderr, "agent-plugin-%s is served by this process (PID %d) until Ctrl-C. Set this where you call agent-pipelines:\n",
		s.description.Name, r.Pid)
	fmt.Fprintf(stdout, "%s='%s'\n", wire.Reattach, line)
}
