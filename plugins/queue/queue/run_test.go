package queue

import (
	"bytes"
	"strings"
	"testing"
)

// All lines are counted, but only the first ones are kept.
func TestLinesAreBounded(t *testing.T) {
	l := &lineBuffer{}
	l.add([]byte(" first \n"))
	l.add([]byte("\n"))
	long := bytes.Repeat([]byte("x"), maxLineBytes/4)
	for range 8 {
		l.add(long)
	}
	l.add([]byte("last"))
	if l.count != 10 {
		t.Errorf("counted %d, want 10", l.count)
	}
	if text := l.text.String(); len(text) > maxLineBytes || !strings.HasPrefix(text, "first\nxxx") || strings.Contains(text, "last") {
		t.Errorf("kept %d bytes that begin with %.9q", len(text), text)
	}
}
