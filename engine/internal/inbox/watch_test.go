package inbox_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Each message is delivered once, whether it is acknowledged (1) or not (2).
func TestWatch(t *testing.T) {
	d := openDir(t)
	w := inbox.NewWatch(d)
	expect := func(want ...string) {
		t.Helper()
		var got []string
		err := w.Look(t.Context(), func(m inbox.Message) {
			got = append(got, m.ID+" "+string(m.Action))
			if m.ID == "1" {
				if err := inbox.Ack(d, m.ID); err != nil {
					t.Error(err)
				}
			}
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	put(t, d, "1.json", `{"action":"pause"}`)
	put(t, d, "2.json", `{"action":"abort"}`)
	expect("1 pause", "2 abort")
	expect()
	put(t, d, "0.json", `{"action":"abort"}`)
	put(t, d, "x.json", `{`)
	expect("0 abort", "x rejected")
	put(t, d, "x.json", `{`) // the same name is another file
	expect("x rejected")
	expect()
}

func TestWatchEndsWithTheDirectory(t *testing.T) {
	d := openDir(t)
	testkit.OK(t, os.RemoveAll(d.Path()))
	err := inbox.NewWatch(d).Look(t.Context(), func(inbox.Message) { t.Error("delivered") })
	if failure.KindOf(err) != failure.StateCorrupt {
		t.Errorf("got %v, want state_corrupt", err)
	}
}

// One bad moment of the disk does not make the session deaf; a lasting one is reported.
func TestWatchBearsFaults(t *testing.T) {
	d := openDir(t)
	testkit.OK(t, d.Replace("inbox", []byte("a file where the directory should be")))
	w := inbox.NewWatch(d)
	for look := 1; look <= 20; look++ {
		if err := w.Look(t.Context(), func(inbox.Message) { t.Error("delivered") }); (err != nil) != (look == 20) {
			t.Errorf("look %d: %v", look, err)
		}
	}
}

func TestWatchOfEndedContext(t *testing.T) {
	d := openDir(t)
	put(t, d, "1.json", `{"action":"pause"}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := inbox.NewWatch(d).Look(ctx, func(inbox.Message) { t.Error("delivered") }); err != nil {
		t.Error(err)
	}
}
