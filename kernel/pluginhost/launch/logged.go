package launch

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// loggedProcess is a child whose stderr goes into the log by way of our own reader. go-plugin's own does not redact,
// and takes every line whatever their number.
type loggedProcess struct {
	*process.Process
	log  *LogWriter
	wait *sync.WaitGroup // of the instance: until the log has been read to its end
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

// Stderr is what go-plugin sees of it: nothing.
func (l *loggedProcess) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }
