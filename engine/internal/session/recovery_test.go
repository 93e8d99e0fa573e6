package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A state that is too long for a line of the journal loses old decisions of its nodes; a state that is still too long
// is refused.
func TestEncodeState(t *testing.T) {
	var long state.State
	long.Session, long.At, long.Nodes = "s", "0", map[string]state.Node{"0": {}, "1": {}}
	for path, n := range long.Nodes {
		n.Loop.Decisions = make([]state.Decision, 100)
		n.Loop.Decisions[0].Reason = strings.Repeat("x", maxImported)
		long.Nodes[path] = n
	}
	text := testkit.Must(encodeState(long))
	var got state.State
	testkit.OK(t, json.Unmarshal(text, &got))
	if current, other := len(got.Nodes["0"].Loop.Decisions), len(got.Nodes["1"].Loop.Decisions); current != 5 || other != 0 {
		t.Errorf("kept %d decisions of the current node and %d of another, want 5 and 0", current, other)
	}
	long.Reason = strings.Repeat("x", maxImported)
	if _, err := encodeState(long); failure.KindOf(err) != failure.StateCorrupt {
		t.Errorf("a state that is too long: %v", err)
	}
}
