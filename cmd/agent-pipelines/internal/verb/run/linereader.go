package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxLine bounds a line, in bytes. A longer line is split; terminals pass on less.
const maxLine = 64 << 10

// lineReader reads lines from a terminal, or from any file that poll(2) can wait for. It is used from one goroutine.
// Input that it has read ahead is lost to other readers of the file.
type lineReader struct {
	file  *os.File
	ahead []byte
}

// newLineReader returns a reader of the file, which the caller still owns and closes.
func newLineReader(file *os.File) *lineReader { return &lineReader{file: file} }

// readLine waits for a line and returns it without its newline; the last line may lack a newline. At the end of the input
// the error is [io.EOF]. If ctx ends first, the error is its cause, and input typed after that is left for the next
// reader.
func (r *lineReader) readLine(ctx context.Context) (string, error) {
	for {
		if line, rest, found := bytes.Cut(r.ahead, []byte{'\n'}); found {
			r.ahead = rest
			return string(bytes.TrimSuffix(line, []byte{'\r'})), nil
		}
		if err := r.ready(ctx); err != nil {
			return "", err
		}
		chunk := make([]byte, 4<<10)
		n, err := r.file.Read(chunk)
		r.ahead = append(r.ahead, chunk[:n]...)
		switch {
		case errors.Is(err, io.EOF) && len(r.ahead) > 0, err == nil && len(r.ahead) > maxLine:
			line := string(r.ahead)
			r.ahead = nil
			return line, nil
		case err != nil:
			return "", err
		}
	}
}

// ready waits until there is something to read, or ctx ends.
func (r *lineReader) ready(ctx context.Context) error {
	woken, wake, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("wait for the keyboard: %w", err)
	}
	defer woken.Close()
	awake := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { defer close(awake); wake.Close() })
	defer func() {
		if stop() {
			wake.Close()
			return
		}
		<-awake
	}()
	waits := []unix.PollFd{{Fd: int32(r.file.Fd()), Events: unix.POLLIN}, {Fd: int32(woken.Fd()), Events: unix.POLLIN}}
	for ctx.Err() == nil {
		_, err := unix.Poll(waits, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for the keyboard: %w", err)
		case waits[1].Revents == 0:
			return nil // also at its end, or when the terminal is closed: reading returns the reason
		}
	}
	return context.Cause(ctx)
}
