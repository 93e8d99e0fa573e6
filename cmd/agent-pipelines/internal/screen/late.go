package screen

import "bytes"

// maxLate bounds what is kept back, in bytes: a person may be away for a night.
const maxLate = 1 << 20

// late is text that is to be written later. Of too much the oldest lines are left out.
type late struct {
	text []byte
	lost bool
}

func (l *late) add(text string) {
	l.text = append(l.text, text...)
	if len(l.text) < 2*maxLate {
		return
	}
	from := len(l.text) - maxLate
	from += bytes.IndexByte(l.text[from:], '\n') + 1
	l.text, l.lost = append([]byte(nil), l.text[from:]...), true
}

func (l *late) take() string {
	text := string(l.text)
	if l.lost {
		text = "  …\n" + text
	}
	*l = late{}
	return text
}
