package firing

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// controlSequence is a control sequence of a terminal (ECMA-48, CSI), its parameters, and its last character.
var controlSequence = regexp.MustCompile(`\x1b\[[\x20-\x3f]*[\x40-\x7e]`)

// plain is text that a person or a model can read: UTF-8, without colours and control characters, and
// without white space around it.
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

// text is valid UTF-8 without white space around it.
func TrimText(b []byte) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(b)), "\uFFFD")
}

// head keeps the beginning of what is written.
type HeadBuffer struct {
	Max     int
	data    []byte
	dropped int // bytes that came after it
}

func (h *HeadBuffer) Add(b []byte) {
	n := min(len(b), h.Max-len(h.data))
	h.data = append(h.data, b[:n]...)
	h.dropped += len(b) - n
}

// String is the beginning, and how much is missing if something is.
func (h *HeadBuffer) String() string {
	s := TrimText(h.data)
	if h.dropped > 0 {
		s += fmt.Sprintf("\n[%d more bytes were left out]", h.dropped)
	}
	return s
}

// tail keeps the last lines of what is written. It is safe for concurrent use.
type TailBuffer struct {
	Max int

	mu        sync.Mutex
	data      []byte
	truncated bool // something was thrown away
}

func (t *TailBuffer) Add(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, line...)
	if over := len(t.data) - t.Max; over > 0 {
		t.data, t.truncated = append(t.data[:0], t.data[over:]...), true
	}
}

// String is what was kept, without a torn first line.
func (t *TailBuffer) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	whole := t.data
	if nl := bytes.IndexByte(whole, '\n'); t.truncated && nl >= 0 {
		whole = whole[nl+1:]
	}
	return PlainText(whole)
}
