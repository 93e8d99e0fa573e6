package tool

import (
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// capture keeps the beginning and the end of a stream: several times the shown size, so that no secret is cut in two in
// the shown part. One goroutine writes; other goroutines read after the writer has ended.
type capture struct {
	first, last []byte
	most        int // maximum bytes of first, and of last
	dropped     int // bytes
	lines       int // line ends in the dropped bytes
}

func newCapture(shown int) *capture { return &capture{most: 8 * shown} }

func (c *capture) write(p []byte) {
	if space := c.most - len(c.first); space > 0 {
		n := min(space, len(p))
		c.first, p = append(c.first, p[:n]...), p[n:]
	}
	c.last = append(c.last, p...)
	if over := len(c.last) - c.most; over > c.most { // rarely true, so that most writes only append
		c.drop(over)
	}
}

func (c *capture) drop(n int) {
	for _, b := range c.last[:n] {
		if b == '\n' {
			c.lines++
		}
	}
	c.dropped += n
	c.last = append(c.last[:0], c.last[n:]...)
}

// tail returns the end of the stream; most is the limit in bytes.
func (c *capture) tail(most int) string {
	if len(c.last) >= most || len(c.first) == 0 {
		return string(c.last[max(len(c.last)-most, 0):])
	}
	whole := slices.Concat(c.first, c.last)
	return string(whole[max(len(whole)-most, 0):])
}

// text returns the kept parts without secrets.
func (c *capture) text(redactor *redact.Redactor) string {
	if c.dropped == 0 {
		return redactor.Text(text(slices.Concat(c.first, c.last)))
	}
	last := text(c.last)
	if i := strings.IndexByte(last, '\n'); i >= 0 { // its first line is incomplete
		last = last[i+1:]
	}
	return redactor.Text(text(c.first)) + "\n" + redactor.Text(last)
}

// discarded counts the part that is not kept; nil if all is kept.
func (c *capture) discarded() *truncation {
	if c.dropped == 0 {
		return nil
	}
	return &truncation{Lines: c.lines, Chars: c.dropped}
}
