package inbox_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Each message is delivered once, whether it is acknowledged (1) or not (2).
func TestWatch(t *testing.T) {
	d := openDir(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		put(t, d, "1.json", `{"action":"pause"}`)
		put(t, d, "2.json", `{"action":"abort"}`)
		delivered := make(chan string, 10)
		done := make(chan error, 1)
		go func() {
			done <- inbox.Watch(ctx, d, 0, func(m inbox.Message) {
				delivered <- m.ID + " " + string(m.Action)
				if m.ID == "1" {
					if err := inbox.Ack(d, m.ID); err != nil {
						t.Error(err)
					}
				}
			})
		}()
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			for range len(delivered) {
				got = append(got, <-delivered)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		expect("1 pause", "2 abort") // at once

		put(t, d, "0.json", `{"action":"stop"}`)
		put(t, d, "x.json", `{`)
		expect()
		time.Sleep(inbox.Interval) // the bubble's clock
		expect("0 stop", "x rejected")

		put(t, d, "x.json", `{`) // the same name is another file
		time.Sleep(3 * inbox.Interval)
		expect("x rejected")

		cancel()
		if err := <-done; err != nil {
			t.Errorf("at the end of its context: %v", err)
		}
	})
}

func TestWatchEndsWithTheDirectory(t *testing.T) {
	d := openDir(t)
	if err := os.RemoveAll(d.Path()); err != nil {
		t.Fatal(err)
	}
	err := inbox.Watch(t.Context(), d, time.Millisecond, func(inbox.Message) { t.Error("delivered") })
	if failure.KindOf(err) != failure.StateCorrupt {
		t.Errorf("got %v, want state_corrupt", err)
	}
}

// One bad moment of the disk does not make the session deaf; a lasting one is told.
func TestWatchBearsFaults(t *testing.T) {
	d := openDir(t)
	if err := d.Replace("inbox", []byte("a file where the directory should be")); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		err := inbox.Watch(t.Context(), d, time.Second, func(inbox.Message) { t.Error("delivered") })
		if err == nil {
			t.Error("no error")
		}
		if got := time.Since(begun); got != 19*time.Second {
			t.Errorf("gave up after %v of the bubble's time, want 20 polls", got)
		}
	})
}

func TestWatchOfEndedContext(t *testing.T) {
	d := openDir(t)
	put(t, d, "1.json", `{"action":"pause"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := inbox.Watch(ctx, d, 0, func(inbox.Message) { t.Error("delivered") }); err != nil {
		t.Error(err)
	}
}
