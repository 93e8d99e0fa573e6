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

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// display is a terminal as far as Live uses one. It is safe for concurrent use.
type display struct {
	mu     sync.Mutex
	width  int
	rows   []string
	row    int
	hidden bool
	raw    bytes.Buffer
}

func newDisplay(width int) *display { return &display{width: width, rows: []string{""}} }

func (d *display) columns() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.width
}

// Write understands text, newlines and the control sequences that Live sends; any other is an error.
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
			d.rows, text = append(d.rows[:d.row], ""), text[len(eraseBelow):]
		case strings.HasPrefix(text, "\r\n"):
			d.rows = append(d.rows[:d.row+1], "")
			d.row++
			text = text[2:]
		default:
			r, size := utf8.DecodeRuneInString(text)
			if r < ' ' {
				return 0, fmt.Errorf("control character %q", r)
			}
			if Columns(d.rows[d.row])+columns(r) > d.width {
				d.rows = append(d.rows, "")
				d.row++
			}
			d.rows[d.row] += string(r)
			text = text[size:]
		}
	}
	return len(b), nil
}

// narrow makes the terminal smaller; lines that do not fit any more are broken, as terminals do.
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
}

func (d *display) screen() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.rows...)
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(60)
		l := NewLive(d, LiveOptions{Width: d.columns})
		s := pipelineStory()
		l.Say("Compiling plan.json...")
		l.Show(s.tell(event.IterationStart, "0", 1, event.IterationStartData{}))
		in, out := int64(1200), int64(34)
		l.Show(kernel.Update{Session: "demo", Report: &kernel.Report{
			Usage: &sdk.Usage{InputTokens: &in, OutputTokens: &out}, Progress: sdk.Progress{Tool: "Edit", Message: "editing\x1b[2J main.go"},
		}})
		time.Sleep(65 * time.Second)
		synctest.Wait()
		want := []string{
			"Compiling plan.json...", "  Iteration 1/2...",
			string(spinner(65*time.Second)) + " plan · iteration 1/2 · mock · 1:05",
			"  1,200 tokens in, 34 out · Edit · editing [2J main.go",
		}
		if diff := cmp.Diff(want, d.screen()); diff != "" {
			t.Errorf("while it runs: %s", diff)
		}

		d.narrow(20)
		fmt.Fprint(l, "[WARN] something ", "odd\n")
		want = []string{"Compiling plan.json.", "..", "  Iteration 1/2...", "[WARN] something odd"}
		if diff := cmp.Diff(want, d.screen()[:4]); diff != "" {
			t.Errorf("after the terminal became narrower: %s", diff)
		}
		for _, row := range d.screen()[4:] {
			if Columns(row) >= 20 {
				t.Errorf("the live line %q does not fit", row)
			}
		}

		l.Show(s.tell(event.IterationComplete, "0", 1, event.IterationCompleteData{Summary: "done"}))
		l.Close()
		l.Close() // twice does no harm
		want = append(want, "    done", "")
		if diff := cmp.Diff(want, d.screen()); diff != "" {
			t.Errorf("at the end: %s", diff)
		}
		if d.hidden {
			t.Error("the cursor is still hidden")
		}
	})
}

func TestLiveWithoutColor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, color := range []bool{false, true} {
			var out bytes.Buffer
			l := NewLive(&out, LiveOptions{Width: func() int { return 0 }, Color: color})
			l.Show(pipelineStory().tell(event.IterationStart, "0", 1, event.IterationStartData{}))
			l.Close()
			if got := strings.Contains(out.String(), bold); got != color {
				t.Errorf("with Color %v, bold text is there: %v", color, got)
			}
		}
	})
}

func TestPlain(t *testing.T) {
	var out bytes.Buffer
	p := NewPlain(&out, false)
	p.Say("Compiling plan.json...")
	p.Show(pipelineStory().tell(event.IterationStart, "0", 1, event.IterationStartData{}))
	fmt.Fprintln(p, "[WARN] odd")
	p.Close()
	if diff := cmp.Diff("Compiling plan.json...\n  Iteration 1/2...\n[WARN] odd\n", out.String()); diff != "" {
		t.Error(diff)
	}
}
