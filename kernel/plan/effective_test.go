package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContextOf(t *testing.T) {
	node := &Node{Context: "from the node"}
	tests := map[string]struct {
		overrides *Overrides
		want      string
	}{
		"no overrides":       {nil, "from the node"},
		"others overridden":  {&Overrides{Model: "opus"}, "from the node"},
		"context overridden": {&Overrides{Context: "from the flag"}, "from the flag"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Plan{Pipeline: Pipeline{Overrides: tt.overrides}}
			if got := p.ContextOf(node); got != tt.want {
				t.Errorf("ContextOf = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCommandsOf(t *testing.T) {
	p := &Plan{Pipeline: Pipeline{
		Commands:  map[string]string{"test": "pipeline", "lint": "pipeline", "build": "pipeline"},
		Overrides: &Overrides{Commands: map[string]string{"test": "flag"}},
	}}
	node := &Node{Commands: map[string]string{"test": "stage", "lint": "stage"}}
	want := map[string]string{"test": "flag", "lint": "stage", "build": "pipeline"}
	if diff := cmp.Diff(want, p.CommandsOf(node)); diff != "" {
		t.Errorf("CommandsOf (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{}, new(Plan).CommandsOf(new(Node))); diff != "" {
		t.Errorf("CommandsOf of nothing (-want +got):\n%s", diff)
	}
}

func TestSessionInputsTellNoneFromEmpty(t *testing.T) {
	for want, inputs := range map[string][]string{
		`{"name":"s","created_at":""}`:             nil,
		`{"name":"s","created_at":"","inputs":[]}`: {},
	} {
		got, err := json.Marshal(Session{Name: "s", Inputs: inputs})
		if err != nil || string(got) != want {
			t.Errorf("Session with inputs %v = %s, %v; want %s", inputs, got, err, want)
		}
	}
}
