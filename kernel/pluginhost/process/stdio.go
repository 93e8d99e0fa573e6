package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// StderrKept is the number of bytes of a plugin's stderr that are kept for error texts.
	StderrKept = 4 << 10
	// maxFirstLine bounds the handshake line; with a certificate it has about 1.5 KB.
	maxFirstLine = 16 << 10
	// drainTime is how long after the end of the process the pipes may stay open. A grandchild that left the group can
	// hold them without end.
	drainTime = 500 * time.Millisecond
)

// stdio is the host's side of the three pipes. They are plain files on both sides, so that waiting for the
// process never waits for a reader.
type stdio struct {
	stdin          *os.File // held open and never written: its end shows the plugin that the host died
	stdout, stderr *os.File

	first     firstLine
	handshake *io.PipeReader // the first line of stdout, then EOF
	logs      *io.PipeReader // all of stderr
	tail      tailBuffer
	pumps     sync.WaitGroup
	drained   chan struct{} // closed when both pumps have ended
}

// openStdio returns the host's side and the three files for the child, which the caller closes.
func openStdio() (*stdio, []*os.File, error) {
	var ends []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ends)
			return nil, nil, err
		}
		ends = append(ends, r, w)
	}
	s := &stdio{
		stdin: ends[1], stdout: ends[2], stderr: ends[4],
		tail: tailBuffer{size: StderrKept}, drained: make(chan struct{}),
	}
	return s, []*os.File{ends[0], ends[3], ends[5]}, nil
}

// pump starts to read both pipes; until the end of the process the caller must read logs.
func (s *stdio) pump() {
	hr, hw := io.Pipe()
	lr, lw := io.Pipe()
	s.handshake, s.logs = hr, lr
	s.pumps.Go(func() { s.readStdout(hw) })
	s.pumps.Go(func() { s.readStderr(lw) })
}

// readStdout passes on the first line and discards the rest, since the protocol needs no more and a printing
// plugin must not block.
func (s *stdio) readStdout(handshake *io.PipeWriter) {
	buf := make([]byte, 4<<10)
	for {
		n, err := s.stdout.Read(buf)
		if s.first.add(buf[:n], err != nil) {
			_, _ = handshake.Write(s.first.bytes())
			_ = handshake.Close()
		}
		if err != nil {
			return
		}
	}
}

func (s *stdio) readStderr(logs *io.PipeWriter) {
	defer logs.Close()
	buf := make([]byte, 4<<10)
	for {
		n, err := s.stderr.Read(buf)
		_, _ = s.tail.Write(buf[:n])
		if n > 0 { // an empty write would wait for a reader
			_, _ = logs.Write(buf[:n]) // fails once the reader has closed; the tail is still kept
		}
		if err != nil {
			return
		}
	}
}

// finish is called when the process has ended: it lets the pumps read the rest, then closes the pipes.
func (s *stdio) finish() {
	_ = s.stdin.Close()
	var cut sync.WaitGroup
	cut.Go(func() {
		timer := time.NewTimer(drainTime)
		defer timer.Stop()
		select {
		case <-s.drained:
		case <-timer.C:
			s.cut()
		}
	})
	s.pumps.Wait()
	close(s.drained)
	cut.Wait()
	s.cut()
}

// cut closes every file that can block a pump.
func (s *stdio) cut() {
	_ = s.stdout.Close()
	_ = s.stderr.Close()
	_ = s.logs.CloseWithError(io.EOF)
	_ = s.handshake.CloseWithError(io.EOF)
}

// abandon releases the pipes of a process that never started.
func (s *stdio) abandon() { closeAll([]*os.File{s.stdin, s.stdout, s.stderr}) }

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// endOfFile reads like its Reader but returns io.EOF when the pipe was closed.
type endOfFile struct{ *io.PipeReader }

func (r endOfFile) Read(p []byte) (int, error) {
	n, err := r.PipeReader.Read(p)
	if errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}

// firstLine collects bytes up to the first newline. It is safe for concurrent use.
type firstLine struct {
	mu   sync.Mutex
	buf  []byte
	done bool
}

// add reports whether these bytes completed the line; at most one call returns true. A line that is too long or
// that the end of the stream cuts off counts as complete.
func (l *firstLine) add(p []byte, last bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return false
	}
	line, _, found := bytes.Cut(p, []byte("\n"))
	l.buf = append(l.buf, line[:min(len(line), maxFirstLine-len(l.buf))]...)
	l.done = found || last || len(l.buf) == maxFirstLine
	return l.done
}

func (l *firstLine) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append(bytes.Clone(l.buf), '\n')
}

// text returns the line received so far.
func (l *firstLine) text() string {
	return strings.TrimSpace(string(l.bytes()))
}
