package screen

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// redrawEvery is how often the time that runs is drawn again.
const redrawEvery = 200 * time.Millisecond

// The control sequences used; every terminal but dumb ones knows them.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	oneUp      = "\x1b[1A"
	eraseBelow = "\r\x1b[J"
	saveTitle  = "\x1b[22;0t"
	title      = "\x1b]0;" // up to a bell
	bell       = "\a"
	calm       = title + bell + "\x1b[23;0t" // no title, where none was saved
	dim        = "\x1b[2m"
	bold       = "\x1b[1m"
	reset      = "\x1b[0m"
)

// Live writes the lines of [Plain] and keeps, below them, a few lines that show what runs now. It is
// safe for concurrent use; [Live.Close] ends it.
type Live struct {
	out      io.Writer
	width    func() int
	color    bool
	narrator Narrator
	done     chan struct{}
	ticker   sync.WaitGroup

	mu      sync.Mutex
	status  status
	drawn   []int  // columns of the lines that are on the screen now
	partial []byte // a log line whose end has not come yet
	held    bool
	late    late // what is to be written when it is not held any more
	waiting bool // for a person, as the terminal's title says
	closed  bool
}

// LiveOptions say how a live view looks.
type LiveOptions struct {
	// Width gives the terminal's columns at this moment; 0 or less means unknown, which is taken as 80.
	Width func() int
	// Color allows bold and faint text.
	Color bool
	// Verbose says more above the live lines.
	Verbose bool
}

// NewLive starts a live view on a terminal.
func NewLive(out io.Writer, o LiveOptions) *Live {
	l := &Live{out: out, width: o.Width, color: o.Color, narrator: Narrator{Verbose: o.Verbose}, done: make(chan struct{})}
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

// Show takes an update in.
func (l *Live) Show(u kernel.Update) {
	now := time.Now()
	lines := l.narrator.Lines(u)
	l.mu.Lock()
	changed := l.status.take(u, now)
	l.announce(u)
	l.mu.Unlock()
	if len(lines) > 0 || changed {
		l.draw(join(lines), now)
	}
}

// announce rings the terminal's bell when the session begins to wait for a person, and says so in its title while it
// does.
func (l *Live) announce(u kernel.Update) {
	if u.State == nil || l.closed {
		return
	}
	if waits := u.State.Status == state.Running && len(u.State.Awaited()) > 0; waits != l.waiting {
		l.waiting = waits
		text := calm
		if waits {
			text = saveTitle + title + "waiting: " + Clean(u.Session) + bell + bell
		}
		io.WriteString(l.out, text) //nolint:errcheck // a terminal that is gone is nobody's loss
	}
}

// Hold takes the live lines away and keeps back what is written, while somebody else uses the terminal.
func (l *Live) Hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held && !l.closed {
		l.held = true
		io.WriteString(l.out, l.erase(l.columns())+showCursor) //nolint:errcheck // as above
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
	text := l.late.take()
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
	last := l.erase(l.columns()) + strings.ReplaceAll(l.late.take(), "\n", "\r\n") + string(l.partial) + showCursor
	if l.waiting {
		last += calm
	}
	io.WriteString(l.out, last) //nolint:errcheck // as above
}

// draw writes text above the live lines and draws these again, in one write.
func (l *Live) draw(text string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		io.WriteString(l.out, text) //nolint:errcheck // as above
		return
	}
	if l.held {
		l.late.add(text)
		return
	}
	width := l.columns()
	var b strings.Builder
	b.WriteString(l.erase(width))
	b.WriteString(strings.ReplaceAll(text, "\n", "\r\n"))
	for i, line := range l.status.lines(now) {
		line = Cut(line, width-1)
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(l.paint(i, line))
		l.drawn = append(l.drawn, Columns(line))
	}
	io.WriteString(l.out, b.String()) //nolint:errcheck // as above
}

// erase takes the drawn lines away. A terminal that became narrower has broken them, so the rows are
// counted in its present width.
func (l *Live) erase(width int) string {
	if len(l.drawn) == 0 {
		return ""
	}
	rows := 0
	for _, n := range l.drawn {
		rows += max(1, (n+width-1)/width)
	}
	l.drawn = l.drawn[:0]
	return strings.Repeat(oneUp, rows-1) + eraseBelow
}

func (l *Live) paint(i int, line string) string {
	switch {
	case !l.color:
		return line
	case i == 0:
		return bold + line + reset
	default:
		return dim + line + reset
	}
}

func (l *Live) columns() int {
	if w := l.width(); w > 0 {
		return w
	}
	return 80
}

func join(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
