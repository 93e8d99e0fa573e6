package firing

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// controlSequence is a control sequence of a terminal (ECMA-48, CSI): its parameters and its final byte.
var controlSequence = regexp.MustCompile(`\x1b\[[\x20-\x3f]*[\x40-\x7e]`)

// PlainText returns readable text: valid UTF-8 without colours, surrounding white space, and control characters other
// than newline and tab.
func PlainText(b []byte) string {
	s := controlSequence.ReplaceAllString(strings.ToValidUTF8(string(b), "\uFFFD"), "")
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// TrimText returns valid UTF-8 without surrounding white space.
func TrimText(b []byte) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(b)), "\uFFFD")
}

// HeadBuffer keeps the first Max bytes that are added. It is not safe for concurrent use.
type HeadBuffer struct {
	Max     int
	Data    []byte
	Dropped int // bytes that exceeded Max
}

// Add appends b as far as it fits.
func (h *HeadBuffer) Add(b []byte) {
	n := min(len(b), h.Max-len(h.Data))
	h.Data = append(h.Data, b[:n]...)
	h.Dropped += len(b) - n
}

// String returns the kept text and the number of dropped bytes, if any.
func (h *HeadBuffer) String() string {
	s := TrimText(h.Data)
	if h.Dropped > 0 {
		s += fmt.Sprintf("\n[%d more bytes were left out]", h.Dropped)
	}
	return s
}

// TailBuffer keeps the last Max bytes of the lines that are added. It is safe for concurrent use.
type TailBuffer struct {
	Max int

	mu        sync.Mutex
	data      []byte
	truncated bool // earlier bytes were dropped
}

// Add appends a line and drops the oldest bytes above Max.
func (t *TailBuffer) Add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, line...)
	if over := len(t.data) - t.Max; over > 0 {
		t.data, t.truncated = append(t.data[:0], t.data[over:]...), true
	}
}

// String returns the kept lines, without an incomplete first line.
func (t *TailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := t.data
	if nl := bytes.IndexByte(whole, '\n'); t.truncated && nl >= 0 {
		whole = whole[nl+1:]
	}
	return PlainText(whole)
}
