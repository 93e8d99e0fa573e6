package cli

import (
	"errors"
	"fmt"
	"io"
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

// Fault returns the first write error, nil for none. EPIPE is not a fault: the reader has read
// enough.
func (o *Output) Fault() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lost == nil || errors.Is(o.lost, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("%w: %w", errOutput, o.lost)
}
