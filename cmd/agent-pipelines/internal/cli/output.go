package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Output is standard output. It records the first write error, because not every caller checks it.
// It is as safe for concurrent use as its Writer.
type Output struct {
	io.Writer

	mu   sync.Mutex // guards lost
	lost error      // the first write error
}

// Write implements [io.Writer].
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.lost == nil {
			o.lost = err
		}
	}
	return n, err
}

// errOutput means that the command could not write all of its output.
var errOutput = errors.New("the output is not whole")

// Fault returns the first write error, nil for none. EPIPE is no fault: the reader has read enough.
func (o *Output) Fault() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil || errors.Is(o.lost, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, o.lost)
}

// OutFile returns standard output as a file, if it is one.
func (a *App) OutFile() (f *os.File, ok bool) {
	to := a.Stdout
	if o, ok := to.(*Output); ok {
		to = o.Writer
	}
	f, ok = to.(*os.File)
	return f, ok
}
