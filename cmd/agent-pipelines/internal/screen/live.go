package screen

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// redrawEvery is how often the time that runs is drawn again.
const redrawEvery = 200 * time.Millisecond

// The control sequences used; every terminal but dumb ones knows them.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	oneUp      = "\x1b[1A"
	eraseBelow = "\r\x1b[J"
	eraseRight = "\x1b[K"
	eraseRest  = "\x1b[J"
	beginFrame = "\x1b[?2026h" // what follows is shown in one piece, by terminals that can
	endFrame   = "\x1b[?2026l"
	dim        = "\x1b[2m"
	bold       = "\x1b[1m"
	reset      = "\x1b[0m"
)

// Below is what a live view draws below the lines. It is used from one goroutine at a time.
type Below interface {
	// Observe takes an update in.
	Observe(u engine.Update)
	// Lines are at most height lines of at most width columns, as of a time; none while there is nothing to show.
	Lines(now time.Time, width, height int) []Line
}

// Live writes the lines of [Plain] and keeps, below them, a few lines that show what runs now. It is
// safe for concurrent use; [Live.Close] ends it.
type Live struct {
	out      io.Writer
	size     func() (width, height int)
	color    bool
	narrator Renderer
	done     chan struct{}
	ticker   sync.WaitGroup

	mu       sync.Mutex
	below    Below
	call     Notifier
	drawn    []int     // columns of the lines that are on the screen now
	frame    string    // these lines
	width    int       // of the terminal when they were drawn
	at       time.Time // when that was
	partial  []byte    // a log line whose end has not come yet
	held     bool
	heldText heldText // what is to be written when it is not held any more
	closed   bool
}

// LiveOptions say how a live view looks.
type LiveOptions struct {
	// Size gives the terminal's columns and lines at this moment; 0 or less means unknown, which is taken as 80 and 24.
	Size func() (width, height int)
	// Below is drawn below the lines.
	Below Below
	// Color allows bold, faint and colored text.
	Color bool
	// Verbose says more above the live lines.
	Verbose bool
	// Attention says how a person is called who looks elsewhere.
	Attention Attention
}

// NewLive starts a live view on a terminal.
func NewLive(out io.Writer, o LiveOptions) *Live {
	l := &Live{
		out: out, size: o.Size, color: o.Color, narrator: Renderer{Verbose: o.Verbose}, done: make(chan struct{}), below: o.Below,
		call: Notifier{Attention: o.Attention},
	}
	io.WriteString(out, hideCursor) //nolint:errcheck // a terminal that is gone is nobody's loss
	l.ticker.Go(l.tick)
	return l
}

func (l *Live) tick() {
	t := time.NewTicker(redrawEvery)
	defer t.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-t.C:
			l.draw("", time.Now())
		}
	}
}

// Show takes an update in. What only changes the lines below is drawn some times a second.
func (l *Live) Show(u engine.Update) {
	now := time.Now()
	width, _ := l.extent()
	lines := fitFrames(l.narrator.Lines(u), width)
	l.mu.Lock()
	l.below.Observe(u)
	if text := l.call.Observe(u); text != "" && !l.closed {
		io.WriteString(l.out, text) //nolint:errcheck // a terminal that is gone is nobody's loss
	}
	soon := now.Sub(l.at) < redrawEvery
	l.mu.Unlock()
	if len(lines) > 0 || !soon {
		l.draw(join(lines), now)
	}
}

// Hold takes the live lines away and keeps back what is written, while somebody else uses the terminal.
func (l *Live) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held && !l.closed {
		l.held = true
		io.WriteString(l.out, l.erase()+showCursor) //nolint:errcheck // as above
	}
}

// Release writes what was kept back, and goes on.
func (l *Live) Release() {
	l.mu.Lock()
	if !l.held || l.closed {
		l.mu.Unlock()
		return
	}
	l.held = false
	text := l.heldText.flush()
	io.WriteString(l.out, hideCursor) //nolint:errcheck // as above
	l.mu.Unlock()
	l.draw(text, time.Now())
}

// Say writes a line of the command itself above the live lines.
func (l *Live) Say(line string) { l.draw(line+"\n", time.Now()) }

// Write lets logs go above the live lines, whole lines at a time.
func (l *Live) Write(b []byte) (int, error) {
	l.mu.Lock()
	l.partial = append(l.partial, b...)
	end := bytes.LastIndexByte(l.partial, '\n') + 1
	whole := string(l.partial[:end])
	l.partial = slices.Delete(l.partial, 0, end)
	l.mu.Unlock()
	if whole != "" {
		l.draw(whole, time.Now())
	}
	return len(b), nil
}

// Close takes the live lines away and gives the cursor back. What was written above stays.
func (l *Live) Close() {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if closed {
		return
	}
	close(l.done)
	l.ticker.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.erase() + strings.ReplaceAll(l.heldText.flush(), "\n", "\r\n") + string(l.partial) + showCursor + l.call.ResetTitle()
	io.WriteString(l.out, last) //nolint:errcheck // as above
}

// draw writes text above the live lines and draws these again, in one write; nothing if nothing has changed.
func (l *Live) draw(text string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		io.WriteString(l.out, text) //nolint:errcheck // as above
		return
	}
	if l.held {
		l.heldText.add(text)
		return
	}
	l.at = now
	width, height := l.extent()
	lines := l.below.Lines(now, width-1, min(height/2, maxBelow))
	frame, columns := l.paint(lines)
	switch {
	case text == "" && frame == l.frame && width == l.width:
		return
	case text == "" && width == l.width && len(l.drawn) > 0 && len(lines) > 0: // over what is there: nothing flickers
		io.WriteString(l.out, beginFrame+strings.Repeat(oneUp, len(l.drawn)-1)+"\r"+frame+eraseRest+endFrame) //nolint:errcheck // as above
	default:
		l.width = width                                                                                   // a terminal that became narrower has broken the lines
		io.WriteString(l.out, beginFrame+l.erase()+strings.ReplaceAll(text, "\n", "\r\n")+frame+endFrame) //nolint:errcheck // as above
	}
	l.drawn, l.frame, l.width = columns, frame, width
}

// maxBelow is how many lines are drawn below, at most; never more than half of the terminal.
const maxBelow = 20

// paint is the text of the lines, and how many columns each has.
func (l *Live) paint(lines []Line) (frame string, columns []int) {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line.Text(l.color) + eraseRight)
		columns = append(columns, line.Columns())
	}
	return b.String(), columns
}

// erase takes the drawn lines away. A terminal that became narrower has broken them, so the rows are
// counted in its present width.
func (l *Live) erase() string {
	if len(l.drawn) == 0 {
		return ""
	}
	width, _ := l.extent()
	rows := 0
	for _, n := range l.drawn {
		rows += max(1, (n+width-1)/width)
	}
	l.drawn, l.frame = nil, ""
	return strings.Repeat(oneUp, rows-1) + eraseBelow
}

func (l *Live) extent() (width, height int) {
	width, height = l.size()
	if width <= 0 {
		width = 80
	}
	if height <= 0 {
		height = 24
	}
	return width, height
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// maxLate bounds what is kept back, in bytes: a person may be away for a night.
const maxLate = 1 << 20

// heldText is text that is to be written later. Of too much the oldest lines are left out.
type heldText struct {
	text []byte
	lost bool
}

func (l *heldText) add(text string) {
	l.text = append(l.text, text...)
	if len(l.text) < 2*maxLate {
		return
	}
	from := len(l.text) - maxLate
	from += bytes.IndexByte(l.text[from:], '\n') + 1
	l.text, l.lost = append([]byte(nil), l.text[from:]...), true
}

func (l *heldText) flush() string {
	text := string(l.text)
	if l.lost {
		text = "  …\n" + text
	}
	*l = heldText{}
	return text
}
