package queue

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestConforms(t *testing.T) {
	plugintest.Termination(t, plugintest.TerminationConfig{
		New: func(t testing.TB) sdk.Termination {
			s, _ := newTestStrategy(t, "BD_READY=a\n")
			return s
		},
		Config: json.RawMessage(`{"type": "queue", "max": 25}`),
		Cases: []plugintest.DecideCase{
			{Name: "beads are left", Request: sdk.DecideRequest{Iteration: 1}, Want: sdk.DecisionContinue},
			{Name: "an agent's error", Request: sdk.DecideRequest{Iteration: 1, Hint: "error"}, Want: sdk.DecisionError},
		},
		Refused: []json.RawMessage{json.RawMessage(`{"command": []}`), json.RawMessage(`{"command": ["nosuchprogram"]}`), json.RawMessage(`{"timeout": -1}`)},
	})
}

// The schema is written by hand, so it must declare the keys that the struct reads.
func TestSchemaNamesWhatIsRead(t *testing.T) {
	var declared struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &declared); err != nil {
		t.Fatal(err)
	}
	keys := []string{"type"}
	for field := range reflect.TypeFor[Config]().Fields() {
		keys = append(keys, field.Tag.Get("json"))
	}
	slices.Sort(keys)
	if diff := cmp.Diff(keys, slices.Sorted(maps.Keys(declared.Properties))); diff != "" {
		t.Errorf("(-read +declared)\n%s", diff)
	}
}
