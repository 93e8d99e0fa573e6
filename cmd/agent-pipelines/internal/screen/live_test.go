package screen

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// ticking draws the time since a moment and the number of updates, in two lines.
type ticking struct {
	since    time.Time
	observed int
}

func (c *ticking) Observe(engine.Update) { c.observed++ }

func (c *ticking) Lines(now time.Time, width, height int) []Line {
	if c.observed == 0 || height < 2 {
		return nil
	}
	return []Line{Line{{"plan ", Bold}, {Clock(now.Sub(c.since)), Normal}}.Cut(width), Line{{fmt.Sprintf("  working, with %d updates", c.observed), Faint}}.Cut(width)}
}

// display is a terminal that understands the control sequences of Live. It is safe for concurrent use.
type display struct {
	mu     sync.Mutex
	width  int
	rows   []string
	row    int
	column int // all characters of the tests are one wide
	hidden bool
	raw    bytes.Buffer
}

func newDisplay(width int) *display { return &display{width: width, rows: []string{""}} }

func (d *display) size() (width, height int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.width, 24
}

// Write understands text, newlines and the control sequences that Live sends; any other sequence is an error.
func (d *display) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.raw.Write(b)
	text := string(b)
	for text != "" {
		switch {
		case strings.HasPrefix(text, hideCursor):
			d.hidden, text = true, text[len(hideCursor):]
		case strings.HasPrefix(text, showCursor):
			d.hidden, text = false, text[len(showCursor):]
		case strings.HasPrefix(text, oneUp):
			d.row, text = d.row-1, text[len(oneUp):]
		case strings.HasPrefix(text, eraseBelow):
			d.rows, d.column, text = append(d.rows[:d.row], ""), 0, text[len(eraseBelow):]
		case strings.HasPrefix(text, eraseRight), strings.HasPrefix(text, eraseRest):
			d.rows[d.row] = string([]rune(d.rows[d.row])[:d.column])
			if strings.HasPrefix(text, eraseRest) {
				d.rows = d.rows[:d.row+1]
			}
			text = text[len(eraseRight):]
		case strings.HasPrefix(text, beginFrame), strings.HasPrefix(text, endFrame):
			text = text[len(beginFrame):]
		case strings.HasPrefix(text, "\r\n"):
			if d.row++; d.row == len(d.rows) {
				d.rows = append(d.rows, "")
			}
			d.column = 0
			text = text[2:]
		case strings.HasPrefix(text, "\r"):
			d.column = 0
			text = text[1:]
		default:
			r, size := utf8.DecodeRuneInString(text)
			if r < ' ' {
				return 0, fmt.Errorf("control character %q", r)
			}
			if d.column == d.width {
				d.rows = append(d.rows, "")
				d.row, d.column = d.row+1, 0
			}
			row := []rune(d.rows[d.row])
			d.rows[d.row] = string(row[:d.column]) + string(r) + string(row[min(d.column+1, len(row)):])
			d.column++
			text = text[size:]
		}
	}
	return len(b), nil
}

// narrow makes the terminal smaller; lines that no longer fit are broken, as terminals do.
func (d *display) narrow(width int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.width = width
	var rows []string
	for _, row := range d.rows {
		for Columns(row) > width {
			rows = append(rows, string([]rune(row)[:width]))
			row = string([]rune(row)[width:])
		}
		rows = append(rows, row)
	}
	d.rows, d.row = rows, len(rows)-1
	d.column = Columns(rows[d.row])
}

func (d *display) screen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.rows...)
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(60)
		l := NewLive(d, LiveOptions{Size: d.size, Footer: &ticking{since: time.Now()}})
		s := pipelineStory()
		l.WriteLine("Compiling plan.json...")
		l.Show(s.newUpdate(event.IterationStart, "0", 1, event.IterationStartData{}))
		time.Sleep(65 * time.Second)
		synctest.Wait()
		want := []string{"Compiling plan.json...", "  Iteration 1/2...", "plan 1:05", "  working, with 1 updates"}
		compare(t, want, d.screen())

		d.narrow(20)
		fmt.Fprint(l, "[WARN] something ", "odd\n")
		want = []string{"Compiling plan.json.", "..", "  Iteration 1/2...", "[WARN] something odd", "plan 1:05", "  working, with 1 …"}
		compare(t, want, d.screen())

		l.Show(s.newUpdate(event.IterationComplete, "0", 1, event.IterationCompleteData{Summary: "done"}))
		l.Close()
		l.Close() // twice does no harm
		compare(t, append(want[:4], "    done", ""), d.screen())
		require(t, !d.hidden, "the cursor is still hidden")
	})
}

// An unchanged line is not written again, and a line that changes often is written a few times a second.
func TestLiveRedrawsRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(60)
		l := NewLive(d, LiveOptions{Size: d.size, Footer: &ticking{since: time.Now()}})
		defer l.Close()
		for range 1000 {
			l.Show(engine.Update{Session: "demo", Report: &engine.Report{}})
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		n := strings.Count(d.raw.String(), beginFrame)
		require(t, n <= 12, n)
		want := []string{"plan 0:10", "  working, with 1000 updates"}
		require(t, cmp.Equal(want, d.screen()), d.screen())
	})
}

func TestLiveWithoutColor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, color := range []bool{false, true} {
			var out bytes.Buffer
			l := NewLive(&out, LiveOptions{Size: func() (int, int) { return 0, 0 }, Footer: &ticking{}, Color: color})
			l.Show(pipelineStory().newUpdate(event.IterationStart, "0", 1, event.IterationStartData{}))
			l.Close()
			compare(t, color, strings.Contains(out.String(), sgr[Bold]))
		}
	})
}

func TestPlain(t *testing.T) {
	var out bytes.Buffer
	p := NewPlain(&out, false)
	p.WriteLine("Compiling plan.json...")
	p.Show(pipelineStory().newUpdate(event.IterationStart, "0", 1, event.IterationStartData{}))
	fmt.Fprintln(p, "[WARN] odd")
	p.Close()
	compare(t, "Compiling plan.json...\n  Iteration 1/2...\n[WARN] odd\n", out.String())
}
