package escalation_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/escalation"
)

// Each content is told once: one that is there already at once, others within a poll; and only of what is open.
func TestWatch(t *testing.T) {
	d := openDir(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		open := make(chan []escalation.Open, 1)
		told := make(chan string, 10)
		done := make(chan struct{})
		go func() {
			defer close(done)
			escalation.Watch(ctx, d, open, func(o escalation.Open, f escalation.Found) {
				text := o.ID + " " + o.Question + " " + f.Context
				if len(f.Faults) > 0 {
					text = o.ID + " faults"
				}
				told <- text
			})
		}()
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for range len(told) {
				got = append(got, <-told)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		put(t, d, "ESC-1", "context: early")
		put(t, d, "ESC-2", "context: of another")
		time.Sleep(time.Hour)
		expect() // nothing is open

		open <- []escalation.Open{{ID: "ESC-1", Question: "q-1", Poll: time.Minute}, {ID: "ESC-3", Poll: 5 * time.Second}}
		expect("ESC-1 q-1 early")
		put(t, d, "ESC-3", "contxt: a")
		expect()
		time.Sleep(5 * time.Second)
		expect("ESC-3 faults")
		time.Sleep(time.Minute)
		expect() // once
		put(t, d, "ESC-3", "context: a")
		time.Sleep(5 * time.Second)
		expect("ESC-3  a")

		open <- nil
		put(t, d, "ESC-1", "context: late")
		time.Sleep(time.Hour)
		expect()
		cancel()
		<-done
	})
}
