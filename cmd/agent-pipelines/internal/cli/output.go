package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Output is standard output. It keeps why the first of what was written to it is lost, since not all who write there look.
// It is as safe for concurrent use as what it writes to.
type Output struct {
	io.Writer

	mu   sync.Mutex // guards:
	lost error
}

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

// errOutput is what a command ends with that could not write all that it was asked for.
var errOutput = errors.New("the output is not whole")

// Fault is why not all of the output could be written, nil if it was. Who closes a pipe has read enough.
func (o *Output) Fault() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil || errors.Is(o.lost, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, o.lost)
}

// OutFile is the file that standard output is, if it is one.
func (a *App) OutFile() (f *os.File, ok bool) {
	to := a.Stdout
	if o, kept := to.(*Output); kept {
		to = o.Writer
	}
	f, ok = to.(*os.File)
	return f, ok
}
