package attempt

import (
	"fmt"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Bounds of a spool's file, in bytes.
const (
	spoolHead = 64 << 20 // kept as it comes
	spoolTail = 1 << 20  // of what comes after that, the end
)

// spool keeps one of an agent's streams in a file while it comes, so that a crash keeps it, too. What
// cannot be written is no failure of the attempt: its result counts. It is safe for concurrent use.
type spool struct {
	store *store.Dir
	name  string
	clean *redact.Stream // takes the secrets out; used under mu

	mu      sync.Mutex // guards:
	file    *os.File   // nil before the first chunk
	fault   error      // the first
	written int64
	tail    []byte // of what did not fit, the end
	dropped int64  // what is neither in the file nor in the tail
}

// add appends a chunk.
func (s *spool) add(chunk string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if chunk == "" || s.fault != nil {
		return
	}
	if s.file == nil {
		if s.file, s.fault = s.store.OpenFile(s.name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY); s.fault != nil {
			return
		}
	}
	s.write(s.clean.Add(chunk))
}

func (s *spool) write(chunk string) {
	n := min(spoolHead-s.written, int64(len(chunk)))
	if n > 0 {
		_, s.fault = s.file.WriteString(chunk[:n])
		failpoint.Point("spool.written")
		s.written += n
	}
	s.tail = append(s.tail, chunk[n:]...)
	if over := len(s.tail) - spoolTail; over > 0 {
		s.dropped += int64(over)
		s.tail = append(s.tail[:0], s.tail[over:]...)
	}
}

// end returns the last bytes of the stream that was closed, at most n, for a message.
func (s *spool) end(n int) string {
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

// close writes the end of a stream that was too long, with a line that says what is missing before it,
// and closes the file. It returns the first fault of all.
func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return s.fault
	}
	s.write(s.clean.End())
	if s.dropped > 0 && s.fault == nil {
		_, s.fault = fmt.Fprintf(s.file, "\n[%d bytes dropped]\n", s.dropped)
	}
	if s.fault == nil {
		_, s.fault = s.file.Write(s.tail)
		failpoint.Point("spool.ended")
	}
	if err := s.file.Close(); s.fault == nil {
		s.fault = err
	}
	return s.fault
}
