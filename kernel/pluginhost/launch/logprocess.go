package launch

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// loggedProcess is a process whose stderr is logged by our own reader, because go-plugin's reader does not
// redact and has no limit.
type loggedProcess struct {
	*process.Process
	log  *LogWriter
	wait *sync.WaitGroup // of the instance: until the log is read to its end
}

// Start implements runner.Runner.
func (l *loggedProcess) Start(ctx context.Context) error {
	if err := l.Process.Start(ctx); err != nil {
		return err
	}
	l.wait.Go(func() {
		_, _ = io.Copy(l.log, l.Process.Stderr()) // neither end fails: the pipe just ends
		_ = l.log.Close()
	})
	return nil
}

// Stderr returns an empty stream to go-plugin.
func (l *loggedProcess) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// quietLogger logs go-plugin's warnings at level debug. They name no plugin, and a killed process is already
// in this program's error or warning.
type quietLogger struct{ hclog.Logger }

// Warn logs at level debug.
func (c quietLogger) Warn(msg string, args ...any) { c.Debug(msg, args...) }

// Named returns a quietLogger for a part of go-plugin.
func (c quietLogger) Named(name string) hclog.Logger { return quietLogger{c.Logger.Named(name)} }
