package cliagent

import "bytes"

// MaxLineBytes is the longest line that reaches a parser in one piece; it bounds memory, and keeps
// what a parser makes of a line within a message of the protocol (64 MiB). Raw output has no limit.
const MaxLineBytes = 32 << 20

// StderrBytes is how much of the end of stderr an [End] keeps.
const StderrBytes = 8 << 10

// splitter cuts a stream of bytes into lines.
type splitter struct {
	emit func(line []byte)
	rest []byte // the beginning of a line that has not ended
}

func (s *splitter) write(b []byte) {
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			s.keep(b)
			return
		}
		if len(s.rest) == 0 {
			s.emit(b[:n])
		} else {
			s.keep(b[:n])
			s.flush()
		}
		b = b[n:]
	}
}

func (s *splitter) keep(b []byte) {
	s.rest = append(s.rest, b...)
	if len(s.rest) >= MaxLineBytes {
		s.flush()
	}
}

// flush emits an unfinished line. A buffer that a long line has grown is given back.
func (s *splitter) flush() {
	if len(s.rest) > 0 {
		s.emit(s.rest)
	}
	if s.rest = s.rest[:0]; cap(s.rest) > 1<<20 {
		s.rest = nil
	}
}

// tail keeps the end of a stream.
type tail struct {
	max int
	buf []byte
	cut bool // something was thrown away
}

func (t *tail) write(b []byte) {
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
}

// String is the end of the stream, without a torn first line and without white space around it.
func (t *tail) String() string {
	b := t.buf
	if nl := bytes.IndexByte(b, '\n'); t.cut && nl >= 0 {
		b = b[nl+1:]
	}
	return string(bytes.ToValidUTF8(bytes.TrimSpace(b), []byte("�")))
}
