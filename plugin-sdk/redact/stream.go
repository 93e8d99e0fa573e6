package redact

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxHeld is the maximum number of bytes held back. Secrets of up to half of it are always found.
const maxHeld = 64 << 10

// Stream redacts a text that arrives in arbitrary pieces. It holds back possible beginnings of
// secrets: usually the last word, and an open private key. If the redactor has patterns or guesses by
// names, it holds back the last line. A Stream is not safe for concurrent use.
//
// The result equals [Redactor.Text] of the whole text, with two exceptions. A Stream misses a private
// key without its beginning, and a secret over several lines if lines are held back.
type Stream struct {
	redactor  *Redactor
	lines     bool // splits the text only at line ends
	pending   []byte
	inspected int  // number of pending bytes already inspected; the text cannot be split there
	marked    bool // the mark for the key that pending begins with is already written
}

// Stream returns a redactor for the pieces of one text.
func (r *Redactor) Stream() *Stream {
	c := r.clone()
	c.forStream = true
	return &Stream{redactor: c, lines: !c.forAgent || len(c.patterns) > 0}
}

// Add appends a piece and returns the redacted text that no later piece can change.
func (s *Stream) Add(piece string) string {
	var out strings.Builder
	for piece != "" {
		n := min(maxHeld-len(s.pending), len(piece))
		s.pending, piece = append(s.pending, piece[:n]...), piece[n:]
		s.split(&out)
		if len(s.pending) == maxHeld {
			s.overflow(&out)
		}
	}
	return out.String()
}

// End returns the rest of the text. The stream can then redact another text.
func (s *Stream) End() string {
	var out strings.Builder
	s.emit(&out, len(s.pending))
	s.inspected = 0
	return out.String()
}

// split writes the text that cannot be part of a later secret.
func (s *Stream) split(out *strings.Builder) {
	if s.lines {
		for {
			i := bytes.IndexByte(s.pending[s.inspected:], '\n')
			if i < 0 {
				s.inspected = len(s.pending)
				return
			}
			s.inspected += i + 1
			if ok, _ := s.splittable(string(s.pending[:s.inspected])); ok {
				s.emit(out, s.inspected)
				s.inspected = 0
			}
		}
	}
	text := string(s.pending)
	for at := len(text); at > s.inspected; {
		ok, before := s.splittable(text[:at])
		if ok {
			s.emit(out, at)
			break
		}
		at = before
	}
	s.inspected = len(s.pending)
}

// emit redacts and writes the first n held bytes.
func (s *Stream) emit(out *strings.Builder, n int) {
	text := s.redactor.Text(string(s.pending[:n]))
	if s.marked && n > 0 {
		text, s.marked = strings.TrimPrefix(text, Mark), false
	}
	out.WriteString(text)
	s.pending = append(s.pending[:0], s.pending[n:]...)
}

// splittable reports whether the text can be redacted without the text after it. It also returns
// the length of the next shorter candidate.
func (s *Stream) splittable(text string) (_ bool, before int) {
	last, size := utf8.DecodeLastRuneInString(text)
	if before = len(text) - size; inWord(last, size) {
		return false, before
	}
	if begin := openKeyAt(text); begin >= 0 {
		return false, min(begin, before)
	}
	if n := overlap(text, Mark); n > 0 && n < len(Mark) || inReference(text) {
		return false, before
	}
	for _, v := range s.redactor.values {
		if overlap(text, v.text) > 0 { // also for a whole value, because the next secret may begin directly after it
			return false, before
		}
	}
	return true, before
}

// inWord reports whether a character may be part of a key, or is incomplete.
func inWord(c rune, size int) bool {
	switch {
	case c == utf8.RuneError:
		return size == 1
	case c >= utf8.RuneSelf:
		return false
	}
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.-+/=", c)
}

// inReference reports whether the text ends inside a reference such as ${NAME}.
func inReference(text string) bool {
	i := strings.LastIndexByte(text, '$')
	if i < 0 {
		return false
	}
	name, opened := strings.CutPrefix(text[i+1:], "{")
	return text[i+1:] == "" || opened && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,64}PRIVATE KEY-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]{0,64}PRIVATE KEY-----`)
	// keyBeginning matches an incomplete first line of a key at the end of a text: at most 64 bytes and "PRIVATE KEY".
	keyBeginning = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,75}$`)
)

// openKeyAt returns the offset of a private key that does not end in the text, -1 if there is none.
func openKeyAt(text string) int {
	if !strings.Contains(text, "-----BEGIN ") {
		return -1
	}
	for from := 0; ; {
		begin := keyBegin.FindStringIndex(text[from:])
		if begin == nil {
			if m := keyBeginning.FindStringIndex(text[from:]); m != nil {
				return from + m[0]
			}
			return -1
		}
		end := keyEnd.FindStringIndex(text[from+begin[1]:])
		if end == nil {
			return from + begin[0]
		}
		from += begin[1] + end[1]
	}
}

// overflow writes the first half of a held text that cannot be split. If a secret crosses the middle,
// overflow writes the text before the secret, or the secret if it begins the text.
func (s *Stream) overflow(out *strings.Builder) {
	text := string(s.pending)
	at := maxHeld / 2
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	for _, secret := range s.redactor.spans(text) {
		if secret.from >= at || secret.to <= at {
			continue
		}
		if at = secret.from; at > 0 {
			break
		}
		if header := keyBegin.FindString(text); secret.to == len(text) && strings.HasPrefix(text, header) && header != "" {
			s.foldKey(out, header)
			return
		}
		at = secret.to
	}
	s.emit(out, max(at, 1))
	s.inspected = len(s.pending)
}

// foldKey writes the mark for an open private key and drops all of the key but its first line.
func (s *Stream) foldKey(out *strings.Builder, header string) {
	if !s.marked {
		out.WriteString(Mark)
	}
	s.pending, s.marked = append(s.pending[:0], header...), true
	s.inspected = len(s.pending)
}
