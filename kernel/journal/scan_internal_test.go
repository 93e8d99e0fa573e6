package journal

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Reading any content fails only with an error, numbers rise, and reading in two pieces that end with lines
// gives the same as reading at once.
func FuzzRead(f *testing.F) {
	one := `{"ts":"2026-01-01T00:00:00Z","type":"session_start","session":"s","cursor":null,"data":{},"seq":1,"run_id":"r","epoch":1}` + "\n"
	two := `{"ts":"2026-01-01T00:00:00Z","type":"kernel_start","session":"s","cursor":{},"data":null,"seq":2,"epoch":2}` + "\n"
	bash := `{"ts":"2026-01-01T00:00:00Z","type":"error","session":"s","cursor":null,"data":{}}` + "\n"
	f.Add([]byte(one+bash+"garbage\n"+two), len(one))
	f.Add([]byte(one+two+one+two[:30]), 3)
	f.Add([]byte("{}\n[]\nnull\n\x00\n\n"+bash[:len(bash)-1]), 9)
	f.Add([]byte(`{"type":"session_start","ts":"2026-01-01T00:00:00Z","data":3,"seq":9223372036854775807}`+"\n"+bash), 0)
	f.Fuzz(func(t *testing.T, text []byte, split int) {
		var whole scanner
		var events []event.Event
		keep := func(into *[]event.Event) func(event.Event) bool {
			return func(e event.Event) bool {
				*into = append(*into, e)
				return true
			}
		}
		err := whole.read(bytes.NewReader(text), keep(&events))
		var last int64
		for _, e := range events {
			if e.Seq <= last {
				t.Fatalf("event %d after %d", e.Seq, last)
			}
			last = e.Seq
		}
		if whole.offset > int64(len(text)) || err == nil && !whole.report.TornTail && whole.offset != int64(len(text)) {
			t.Errorf("read %d of %d bytes", whole.offset, len(text))
		}

		if split < 0 || split >= len(text) {
			return
		}
		split = bytes.LastIndexByte(text[:split], '\n') + 1
		var pieces scanner
		var first, second []event.Event
		if err = pieces.read(bytes.NewReader(text[:split]), keep(&first)); err == nil {
			_ = pieces.read(bytes.NewReader(text[split:]), keep(&second))
		}
		if diff := cmp.Diff(events, append(first, second...)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(whole.report, pieces.report); diff != "" {
			t.Error(diff)
		}
	})
}
