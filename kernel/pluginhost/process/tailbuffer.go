package process

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

// crashReport matches the beginning of the report of a crashed Go program.
var crashReport = regexp.MustCompile(`(?m)^(panic|fatal error|runtime|runtime/cgo|SIG[A-Z]+): `)

// Crashed reports whether a text, such as [Process.Tail], begins with the crash report of the Go runtime.
func Crashed(log string) bool {
	first := crashReport.FindString(log)
	return first != "" && strings.HasPrefix(log, first)
}

// tailBuffer keeps the last bytes written to it. Of a crash report it keeps the first bytes, because they give the
// reason and the place, and unrelated stacks follow. It is safe for concurrent use.
type tailBuffer struct {
	mu      sync.Mutex
	size    int
	buf     []byte
	crashed bool // buf begins with a crash report
}

// Write never fails.
func (r *tailBuffer) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.crashed && len(r.buf) == r.size {
		return len(p), nil
	}
	r.buf = append(r.buf, p...)
	if at := crashReport.FindIndex(r.buf); !r.crashed && at != nil {
		r.buf, r.crashed = r.buf[at[0]:], true
	}
	switch over := len(r.buf) - r.size; {
	case over <= 0:
	case r.crashed:
		r.buf = r.buf[:r.size]
	default:
		r.buf = append(r.buf[:0], r.buf[over:]...)
	}
	return len(p), nil
}

// String returns the content, without a half line at the end of a cut crash report.
func (r *tailBuffer) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.crashed && len(r.buf) == r.size {
		return string(r.buf[:1+bytes.LastIndexByte(r.buf, '\n')])
	}
	return string(r.buf)
}
