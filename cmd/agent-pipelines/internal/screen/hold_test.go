package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// While the user is asked, nothing else is written: not the time that runs, not what other providers do, no log.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(60)
		l := NewLive(d, LiveOptions{Size: d.size, Below: &ticking{}})
		s := pipelineStory()
		l.Show(s.newUpdate(event.IterationStart, "0", 1, event.IterationStartData{}))
		l.Hold()
		fmt.Fprint(d, "Sure? ")
		time.Sleep(time.Minute)
		l.WriteLine("something")
		fmt.Fprint(l, "[WARN] odd\n")
		synctest.Wait()
		if diff := cmp.Diff([]string{"  Iteration 1/2...", "Sure? "}, d.screen()); diff != "" || d.hidden {
			t.Errorf("while it is held (cursor hidden: %v): %s", d.hidden, diff)
		}
		fmt.Fprint(d, "\r\n")
		l.Release()
		want := []string{"  Iteration 1/2...", "Sure? ", "something", "[WARN] odd"}
		if diff := cmp.Diff(want, d.screen()[:4]); diff != "" || len(d.screen()) == 4 {
			t.Errorf("afterwards: %s (%d lines)", diff, len(d.screen()))
		}
		l.Hold()
		l.WriteLine("at the end")
		l.Close()
		l.Release() // after the end does no harm
		if diff := cmp.Diff(append(want, "at the end", ""), d.screen()); diff != "" {
			t.Errorf("closed while it is held: %s", diff)
		}
	})
}

func TestHoldPlain(t *testing.T) {
	var out bytes.Buffer
	p := NewPlain(&out, false)
	p.WriteLine("before")
	p.Hold()
	p.WriteLine("late")
	if out.String() != "before\n" {
		t.Errorf("while it is held: %q", out.String())
	}
	p.Close()
	if out.String() != "before\nlate\n" {
		t.Errorf("at the end: %q", out.String())
	}
}

func TestLateIsBounded(t *testing.T) {
	var l heldText
	for i := range 3 * maxLate / 10 {
		l.add(fmt.Sprintf("%09d\n", i))
	}
	got := l.flush()
	if len(got) > 2*maxLate || !strings.HasPrefix(got, "  …\n") || !strings.HasSuffix(got, fmt.Sprintf("%09d\n", 3*maxLate/10-1)) {
		t.Errorf("%d bytes, from %.30q", len(got), got)
	}
	if first := strings.Split(got, "\n")[1]; len(first) != 9 {
		t.Errorf("the first line is cut: %q", first)
	}
	if l.flush() != "" {
		t.Error("taken twice")
	}
}
