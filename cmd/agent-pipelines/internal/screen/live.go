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

// redrawEvery is the interval at which the running times are redrawn.
const redrawEvery = 200 * time.Millisecond

// These are the control sequences used; all terminals except dumb ones have them.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	oneUp      = "\x1b[1A"
	eraseBelow = "\r\x1b[J"
	eraseRight = "\x1b[K"
	eraseRest  = "\x1b[J"
	beginFrame = "\x1b[?2026h" // a terminal that knows it shows the output until endFrame in one piece
	endFrame   = "\x1b[?2026l"
)

// Footer draws the lines that a live view keeps below its other output. It is not safe for concurrent use.
type Footer interface {
	// Observe adds an update.
	Observe(u engine.Update)
	// Lines returns at most height lines of at most width columns at a time, none before the first event.
	Lines(now time.Time, width, height int) []Line
}

// Live writes the lines of [Plain] and keeps, below them, a few lines about the current work. It is safe for concurrent
// use; [Live.Close] ends it.
type Live struct {
	LiveOptions
	out      io.Writer
	renderer Renderer
	done     chan struct{}
	ticker   sync.WaitGroup

	mu       sync.Mutex
	notifier Notifier
	drawn    drawing
	partial  []byte // an incomplete line of a log
	paused   bool
	heldText heldText // the text to write after Hold
	closed   bool
}

// drawing describes the drawn lines.
type drawing struct {
	columns []int     // of each line
	frame   string    // the lines
	width   int       // of the terminal at that time
	at      time.Time // time of the drawing
}

// LiveOptions configures a live view.
type LiveOptions struct {
	// Size returns the current columns and lines of the terminal; 0 or less means unknown, which counts as 80 and 24.
	Size func() (width, height int)
	// Footer draws the live lines; a mutex of the view guards it.
	Footer Footer
	// Color allows bold, faint and colored text.
	Color bool
	// Verbose writes more above the live lines.
	Verbose bool
	// Silent turns the notifications of [Notifier] off.
	Silent bool
}

// NewLive starts a live view on a terminal.
func NewLive(out io.Writer, o LiveOptions) *Live {
	l := &Live{
		LiveOptions: o, out: out, renderer: Renderer{Verbose: o.Verbose}, done: make(chan struct{}), notifier: Notifier{Silent: o.Silent},
	}
	io.WriteString(out, hideCursor) //nolint:errcheck // a closed terminal needs no output
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

// Show adds an update. A change of only the live lines is drawn at the next interval.
func (l *Live) Show(u engine.Update) {
	now := time.Now()
	width, _ := l.extent()
	lines := fitFrames(l.renderer.Lines(u), width)
	l.mu.Lock()
	l.Footer.Observe(u)
	if text := l.notifier.Observe(u); text != "" && !l.closed {
		io.WriteString(l.out, text) //nolint:errcheck // a closed terminal needs no output
	}
	soon := now.Sub(l.drawn.at) < redrawEvery
	l.mu.Unlock()
	if len(lines) > 0 || !soon {
		l.draw(join(lines), now)
	}
}

// Hold removes the live lines and holds all lines back while another part of the program uses the terminal.
func (l *Live) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.paused && !l.closed {
		l.paused = true
		io.WriteString(l.out, l.erase()+showCursor) //nolint:errcheck // as above
	}
}

// Release writes the lines that were held back, and ends Hold.
func (l *Live) Release() {
	l.mu.Lock()
	if !l.paused || l.closed {
		l.mu.Unlock()
		return
	}
	l.paused = false
	text := l.heldText.flush()
	io.WriteString(l.out, hideCursor) //nolint:errcheck // as above
	l.mu.Unlock()
	l.draw(text, time.Now())
}

// WriteLine writes a line of the command itself above the live lines.
func (l *Live) WriteLine(line string) { l.draw(line+"\n", time.Now()) }

// Write writes lines of logs above the live lines, whole lines at a time.
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

// Close removes the live lines and shows the cursor again. The lines above stay.
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
	last := l.erase() + strings.ReplaceAll(l.heldText.flush(), "\n", "\r\n") + string(l.partial) + showCursor + l.notifier.ResetTitle()
	io.WriteString(l.out, last) //nolint:errcheck // as above
}

// draw writes text above the live lines and redraws them, in one write; it does nothing if nothing has changed.
func (l *Live) draw(text string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		io.WriteString(l.out, text) //nolint:errcheck // as above
		return
	}
	if l.paused {
		l.heldText.add(text)
		return
	}
	l.drawn.at = now
	width, height := l.extent()
	lines := l.Footer.Lines(now, width-1, min(height/2, maxFooter))
	frame, columns := l.paint(lines)
	switch {
	case text == "" && frame == l.drawn.frame && width == l.drawn.width:
		return
	case text == "" && width == l.drawn.width && len(l.drawn.columns) > 0 && len(lines) > 0: // overwriting does not flicker
		io.WriteString(l.out, beginFrame+strings.Repeat(oneUp, len(l.drawn.columns)-1)+"\r"+frame+eraseRest+endFrame) //nolint:errcheck // as above
	default:
		l.drawn.width = width                                                                             // a narrower terminal has wrapped the lines
		io.WriteString(l.out, beginFrame+l.erase()+strings.ReplaceAll(text, "\n", "\r\n")+frame+endFrame) //nolint:errcheck // as above
	}
	l.drawn = drawing{columns, frame, width, now}
}

// maxFooter bounds the live lines; they never take more than half of the terminal.
const maxFooter = 20

// paint returns the text of the lines, and the columns of each.
func (l *Live) paint(lines []Line) (frame string, columns []int) {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line.Text(l.Color) + eraseRight)
		columns = append(columns, line.Columns())
	}
	return b.String(), columns
}

// erase removes the drawn lines. A terminal that became narrower has wrapped them, so the rows are counted in its current
// width.
func (l *Live) erase() string {
	if len(l.drawn.columns) == 0 {
		return ""
	}
	width, _ := l.extent()
	rows := 0
	for _, n := range l.drawn.columns {
		rows += max(1, (n+width-1)/width)
	}
	l.drawn.columns, l.drawn.frame = nil, ""
	return strings.Repeat(oneUp, rows-1) + eraseBelow
}

func (l *Live) extent() (width, height int) {
	width, height = l.Size()
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

// maxLate bounds the text that is held back, in bytes.
const maxLate = 1 << 20

// heldText is text to write later. Of too much text the oldest lines are dropped.
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
