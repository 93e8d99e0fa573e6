package cliagent

import "bytes"

// MaxLineBytes is the length from which a line arrives in pieces, which exceed it by at most one read. It
// bounds memory and keeps a parsed line within a protocol message (64 MiB). Raw output has no limit.
const MaxLineBytes = 32 << 20

// StderrBytes is the size of the end of stderr that an [End] keeps.
const StderrBytes = 8 << 10

// splitter splits a byte stream into lines.
type splitter struct {
	emit func(line []byte)
	rest []byte // the start of an incomplete line
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

// flush emits an incomplete line and frees a buffer that a long line has enlarged.
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
	cut bool // bytes were discarded
}

func (t *tail) write(b []byte) {
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
}

// String returns the end of the stream, without an incomplete first line and surrounding white
// space.
func (t *tail) String() string {
	b := t.buf
	if nl := bytes.IndexByte(b, '\n'); t.cut && nl >= 0 {
		b = b[nl+1:]
	}
	return string(bytes.ToValidUTF8(bytes.TrimSpace(b), []byte("�")))
}
