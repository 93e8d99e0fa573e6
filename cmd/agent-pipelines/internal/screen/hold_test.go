package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// While the command asks the user, it writes nothing else: no running time, no progress of other providers, no logs.
func TestHoldLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(60)
		l := NewLive(d, LiveOptions{Size: d.size, Footer: &ticking{}})
		s := pipelineStory()
		l.Show(s.newUpdate(event.IterationStart, "0", 1, event.IterationStartData{}))
		l.Hold()
		fmt.Fprint(d, "Sure? ")
		time.Sleep(time.Minute)
		l.WriteLine("something")
		fmt.Fprint(l, "[WARN] odd\n")
		synctest.Wait()
		compare(t, []string{"  Iteration 1/2...", "Sure? "}, d.screen())
		require(t, !d.hidden, d.hidden)
		fmt.Fprint(d, "\r\n")
		l.Release()
		want := []string{"  Iteration 1/2...", "Sure? ", "something", "[WARN] odd"}
		compare(t, want, d.screen()[:4])
		require(t, len(d.screen()) != 4, len(d.screen()))
		l.Hold()
		l.WriteLine("at the end")
		l.Close()
		l.Release() // after the end does no harm
		compare(t, append(want, "at the end", ""), d.screen())
	})
}

func TestHoldPlain(t *testing.T) {
	var out bytes.Buffer
	p := NewPlain(&out, false)
	p.WriteLine("before")
	p.Hold()
	p.WriteLine("late")
	compare(t, "before\n", out.String())
	p.Close()
	compare(t, "before\nlate\n", out.String())
}

func TestHeldTextIsBounded(t *testing.T) {
	var l heldText
	for i := range 3 * maxLate / 10 {
		l.add(fmt.Sprintf("%09d\n", i))
	}
	got := l.flush()
	require(t, len(got) <= 2*maxLate && strings.HasPrefix(got, "  …\n") && strings.HasSuffix(got, fmt.Sprintf("%09d\n", 3*maxLate/10-1)), len(got), got)
	first := strings.Split(got, "\n")[1]
	require(t, len(first) == 9, first)
	compare(t, "", l.flush())
}
