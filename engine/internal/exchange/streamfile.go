package exchange

import (
	"fmt"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Bounds of a stream's file, in bytes.
const (
	maxStreamHead = 64 << 20 // beginning of the stream, written as it arrives
	maxStreamTail = 1 << 20  // end of the remaining stream
)

// streamFile writes one of an agent's streams to a file, each chunk as it arrives, so that the chunks survive a crash.
// A write error does not fail the attempt. It is safe for concurrent use.
type streamFile struct {
	store    *store.Dir
	name     string
	redactor *redact.Stream // guarded by mu

	mu      sync.Mutex // guards redactor and the fields below
	file    *os.File   // nil before the first chunk
	err     error      // the first error
	written int64
	tail    []byte // the end of the chunks that did not fit
	dropped int64  // bytes neither in the file nor in the tail
}

// add appends a chunk.
func (s *streamFile) add(chunk string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if chunk == "" || s.err != nil {
		return
	}
	if s.file == nil {
		if s.file, s.err = s.store.OpenFile(s.name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY); s.err != nil {
			return
		}
	}
	s.write(s.redactor.Add(chunk))
}

func (s *streamFile) write(chunk string) {
	n := min(maxStreamHead-s.written, int64(len(chunk)))
	if n > 0 {
		_, s.err = s.file.WriteString(chunk[:n])
		failpoint.Point("spool.written")
		s.written += n
	}
	s.tail = append(s.tail, chunk[n:]...)
	if over := len(s.tail) - maxStreamTail; over > 0 {
		s.dropped += int64(over)
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
}

// readTail returns at most the last n bytes of a closed stream, for a message.
func (s *streamFile) readTail(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.tail) > 0 || s.file == nil {
		return string(s.tail[max(0, len(s.tail)-n):])
	}
	text := make([]byte, min(int64(n), s.written))
	f, err := s.store.OpenRegular(s.name)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.ReadAt(text, s.written-int64(len(text))); err != nil {
		return ""
	}
	return string(text)
}

// close writes the redactor's rest and the tail, preceded by a line that counts the dropped bytes, and closes the
// file. It returns the stream's first error.
func (s *streamFile) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return s.err
	}
	s.write(s.redactor.End())
	if s.dropped > 0 && s.err == nil {
		_, s.err = fmt.Fprintf(s.file, "\n[%d bytes dropped]\n", s.dropped)
	}
	if s.err == nil {
		_, s.err = s.file.Write(s.tail)
		failpoint.Point("spool.ended")
	}
	if err := s.file.Close(); s.err == nil {
		s.err = err
	}
	return s.err
}
