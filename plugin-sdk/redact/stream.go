package redact

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxHeld is how much of a stream is held back at most, in bytes. A secret of up to half of it is found wherever it is.
const maxHeld = 64 << 10

// Stream redacts a text that comes in pieces, however it was cut. What could be the beginning of a secret is held back
// until more comes: the last word as a rule; the last line where the redactor has patterns, or guesses by names; a
// private key that has begun. It is used from one goroutine.
//
// What comes out is what [Redactor.Text] makes of the whole text, but for a private key whose beginning is missing and,
// where lines are held back, secrets that go over several of them.
type Stream struct {
	redactor *Redactor
	lines    bool // parts the text at the ends of lines only
	held     []byte
	judged   int  // so many of the held bytes were looked at: the text cannot be parted there
	told     bool // a mark for the key that held begins with is out already
}

// Stream begins a text.
func (r *Redactor) Stream() *Stream {
	c := r.clone()
	c.pieces = true
	return &Stream{redactor: c, lines: !c.agent || len(c.patterns) > 0}
}

// Add is what of the text can be told now that a piece has come.
func (s *Stream) Add(piece string) string {
	var out strings.Builder
	for piece != "" {
		n := min(maxHeld-len(s.held), len(piece))
		s.held, piece = append(s.held, piece[:n]...), piece[n:]
		s.part(&out)
		if len(s.held) == maxHeld {
			s.overflow(&out)
		}
	}
	return out.String()
}

// End is what is left of the text. The stream can then take another one.
func (s *Stream) End() string {
	var out strings.Builder
	s.tell(&out, len(s.held))
	s.judged = 0
	return out.String()
}

// part tells as much as cannot be part of a secret that is still to come.
func (s *Stream) part(out *strings.Builder) {
	if s.lines {
		for {
			i := bytes.IndexByte(s.held[s.judged:], '\n')
			if i < 0 {
				s.judged = len(s.held)
				return
			}
			s.judged += i + 1
			if apart, _ := s.apart(string(s.held[:s.judged])); apart {
				s.tell(out, s.judged)
				s.judged = 0
			}
		}
	}
	text := string(s.held)
	for at := len(text); at > s.judged; {
		apart, before := s.apart(text[:at])
		if apart {
			s.tell(out, at)
			break
		}
		at = before
	}
	s.judged = len(s.held)
}

// tell puts out the first bytes of what is held.
func (s *Stream) tell(out *strings.Builder, n int) {
	text := s.redactor.Text(string(s.held[:n]))
	if s.told && n > 0 {
		text, s.told = strings.TrimPrefix(text, Mark), false
	}
	out.WriteString(text)
	s.held = append(s.held[:0], s.held[n:]...)
}

// apart reports whether what comes after the text can be redacted without it; if not, which shorter text may be next.
func (s *Stream) apart(text string) (_ bool, before int) {
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
		if overlap(text, v.text) > 0 { // all of it, too: the next secret may touch it
			return false, before
		}
	}
	return true, before
}

// inWord reports whether a character may stand within a key, or is not whole yet.
func inWord(c rune, size int) bool {
	switch {
	case c == utf8.RuneError:
		return size == 1
	case c >= utf8.RuneSelf:
		return false
	}
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.-+/=", c)
}

// inReference reports whether a reference such as ${NAME} has begun at the end of the text.
func inReference(text string) bool {
	i := strings.LastIndexByte(text, '$')
	if i < 0 {
		return false
	}
	name, opened := strings.CutPrefix(text[i+1:], "{")
	return text[i+1:] == "" || opened && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

var (
	keyBegin = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----`)
	keyEnd   = regexp.MustCompile(`-----END [A-Z0-9 ]*PRIVATE KEY-----`)
	// keyBeginning is the beginning of a key's first line at the end of a text.
	keyBeginning = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]{0,64}$`)
)

// openKeyAt is where a private key begins that does not end in the text, -1 if there is none.
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

// overflow tells the first half of what is held, which has no place to be parted at: up to the secret that the middle
// goes through, if there is one.
func (s *Stream) overflow(out *strings.Builder) {
	text := string(s.held)
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
			s.goOn(out, header)
			return
		}
		at = secret.to
	}
	s.tell(out, max(at, 1))
	s.judged = len(s.held)
}

// goOn tells the mark for a private key, and forgets all of the key but its first line: more of it is still to come.
func (s *Stream) goOn(out *strings.Builder, header string) {
	if !s.told {
		out.WriteString(Mark)
	}
	s.held, s.told = append(s.held[:0], header...), true
	s.judged = len(s.held)
}
