package journal

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// FuzzRead reads any content: reading never panics, and the numbers of the events rise. Reading two pieces, cut after
// a line, gives the same result as reading at once.
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

// FuzzResultFile adds result_file, which readers of the Bash engine's journals expect, to any data. All other members
// stay unchanged, and a second call adds nothing.
func FuzzResultFile(f *testing.F) {
	for _, seed := range []string{
		`{"decision":"stop","result":{"path":"stage-00-a/iterations/001/result.json","sha256":"","size":2}}`, `{"result":{"path":"x"},"result_file":"/y"}`,
		`{"result":{"path":"x"},"result_file":""}`, `{"result":{"path":"x"},"result_file":null}`, `{"a":{"b":[1,2.50,1e3]},"result":{"path":"ü\u0000"},"a":1}`, "null", "[]", "3", "", `{"result":3}`,
	} {
		f.Add([]byte(seed))
	}
	p := must(store.OpenProject(f.TempDir()))
	f.Cleanup(func() { _ = p.Close() })
	d := must(p.Create("s"))
	f.Cleanup(func() { _ = d.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			return
		}
		added := withResultFile(data, d)
		if !json.Valid(added) {
			t.Fatalf("%s became %s, which is not JSON", data, added)
		}
		if diff := cmp.Diff(string(added), string(withResultFile(added, d))); diff != "" {
			t.Fatalf("a second time (-first +second):\n%s", diff)
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(data, &before) != nil || bytes.Equal(added, data) {
			return
		}
		if err := json.Unmarshal(added, &after); err != nil {
			t.Fatal(err)
		}
		delete(before, "result_file")
		delete(after, "result_file")
		if diff := cmp.Diff(writePlain(t, before), writePlain(t, after)); diff != "" {
			t.Errorf("more has changed:\n%s", diff)
		}
	})
}

func writePlain(t *testing.T, v map[string]json.RawMessage) string {
	t.Helper()
	return string(must(json.Marshal(v)))
}
