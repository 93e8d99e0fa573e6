package question_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// Each content is reported once, and only of open escalations; the next look is after the shortest poll.
func TestWatch(t *testing.T) {
	d := openDir(t)
	synctest.Test(t, func(t *testing.T) {
		w := question.NewWatch(d)
		var open []question.Open
		expect := func(next time.Duration, want ...string) {
			t.Helper()
			var got []string
			again := w.Look(open, func(o question.Open, f question.ResolutionFile) {
				text := o.ID + " " + o.Question + " " + f.Context
				if len(f.Faults) > 0 {
					text = o.ID + " faults"
				}
				got = append(got, text)
			})
			testkit.Equal(t, want, got)
			if next == 0 {
				if again != nil {
					t.Error("it looks again, and nothing is open")
				}
				return
			}
			begun := time.Now() // the bubble's clock
			if <-again; time.Since(begun) != next {
				t.Errorf("it looks again after %v, want %v", time.Since(begun), next)
			}
		}
		put(t, d, "ESC-1", "context: early")
		put(t, d, "ESC-2", "context: of another")
		expect(0)

		open = []question.Open{{ID: "ESC-1", Question: "q-1", Poll: time.Minute}, {ID: "ESC-3", Poll: 5 * time.Second}}
		expect(5*time.Second, "ESC-1 q-1 early")
		put(t, d, "ESC-3", "contxt: a")
		expect(5*time.Second, "ESC-3 faults")
		expect(5 * time.Second) // once
		put(t, d, "ESC-3", "context: a")
		expect(5*time.Second, "ESC-3  a")

		open = nil
		put(t, d, "ESC-1", "context: late")
		expect(0)
	})
}
