package state

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse reads any state: its rendering is stable, and a clone is equal and shares nothing that is changed in
// place.
func FuzzParse(f *testing.F) {
	golden, err := os.ReadFile("../schedule/testdata/state-v1.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"status":"running","nodes":{"0":{"status":"running","branches":{"a":{"loop":{}}},"steps":{"s":{"loop":{"phase":"ready"}}},"order":["s"]}},"questions":{"q":{}},"timers":{"t":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		first, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("a state cannot be written: %v", err)
		}
		back, err := Parse(first)
		if err != nil {
			t.Fatalf("a written state cannot be read: %v\n%s", err, first)
		}
		again, err := json.Marshal(back)
		if diff := cmp.Diff(string(first), string(again)); err != nil || diff != "" {
			t.Fatalf("written twice: %v (-first +second):\n%s", err, diff)
		}
		clone := s.Clone()
		for path, n := range clone.Nodes {
			n.Status = "changed"
			clone.Nodes[path] = n
			for id, b := range n.Branches {
				b.Status = "changed"
				n.Branches[id] = b
			}
			for id, step := range n.Steps {
				step.Status = "changed"
				n.Steps[id] = step
			}
		}
		after, err := json.Marshal(s)
		if diff := cmp.Diff(string(first), string(after)); err != nil || diff != "" {
			t.Fatalf("a change of the clone changed it, too: %v (-before +after):\n%s", err, diff)
		}
	})
}
