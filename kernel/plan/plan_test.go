package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func nestedPlan() *Plan {
	return &Plan{Nodes: []Node{
		{Path: "0", ID: "a", Kind: KindStage},
		{Path: "1", ID: "both", Kind: KindParallel, Stages: []Node{{Path: "1.0", ID: "x"}, {Path: "1.1", ID: "y"}}},
		{Path: "2", ID: "sub", Kind: KindPipeline, Plan: &Plan{Nodes: []Node{
			{Path: "0", ID: "z"}, {Path: "1", ID: "inner", Kind: KindParallel, Stages: []Node{{Path: "1.0", ID: "deep"}}},
		}}},
		{Path: "10", ID: "k", Kind: KindStage},
	}}
}

func TestFind(t *testing.T) {
	p := nestedPlan()
	for path, want := range map[string]string{"0": "a", "1": "both", "1.1": "y", "2.0": "z", "2.1.0": "deep", "10": "k"} {
		if n := p.Find(path); n == nil || n.ID != want {
			t.Errorf("Find(%q) = %+v, want %s", path, n, want)
		}
	}
	for _, path := range []string{"", "3", "1.2", "2.0.0", "00", "1."} {
		if n := p.Find(path); n != nil {
			t.Errorf("Find(%q) = %+v", path, n)
		}
	}
}

func TestOrder(t *testing.T) {
	p := nestedPlan()
	for path, want := range map[string]string{"0": "1", "2": "10", "10": "", "x": ""} {
		if got := p.Next(path); got != want {
			t.Errorf("Next(%q) = %q, want %q", path, got, want)
		}
	}
	if p.Index("10") != 3 || p.Index("1.0") != -1 {
		t.Errorf("Index(10) = %d", p.Index("10"))
	}
}

// A value with two forms is written back in its original form, and in the short one if that is complete.
func TestTwoForms(t *testing.T) {
	tests := []struct {
		name string
		into any
		text string
	}{
		{"provider as a string", &BlockProvider{}, `"claude"`},
		{"provider as an object", &BlockProvider{}, `{"name":"codex","as":"second","model":"m","inputs":{"from":"a"}}`},
		{"provider object with a name alone", &BlockProvider{}, `{"name":"codex"}`},
		{"provider object with inputs that are empty", &BlockProvider{}, `{"name":"codex","inputs":{}}`},
		{"edge as a target", &Edge{}, `"next"`},
		{"edge in full", &Edge{}, `{"to":"plan","limit":3,"feedback":"issues","on_limit":"pause"}`},
		{"no inputs", &Inputs{}, `{}`},
		{"inputs", &Inputs{}, `{"from":"a","select":"all"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := json.Unmarshal([]byte(tt.text), tt.into); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(tt.into)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.text, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, bad := range []string{"7", "[", `{"name":7}`} {
		if json.Unmarshal([]byte(bad), &BlockProvider{}) == nil {
			t.Errorf("%s was read as a provider", bad)
		}
	}
	if got, err := json.Marshal(Node{}); err != nil || string(got) != `{"path":"","id":"","kind":"","inputs":{}}` {
		t.Errorf("an empty node is %s, %v: no key of ours may appear in an old plan", got, err)
	}
}

// U010: the model is the provider's, else the stage's, else the name's default; the provider's inputs override the
// stage's, key by key.
func TestInBranch(t *testing.T) {
	text := func(s string) json.RawMessage { return json.RawMessage(s) }
	block := Node{Providers: []BlockProvider{
		{Name: "claude"},
		{Name: "gpt", As: "calm", Model: "low", Inputs: Inputs{"from": text(`"a"`), "from_parallel": text(`"x"`)}, Object: true},
	}}
	plain, own := Node{ID: "s"}, Node{ID: "s", Model: "mine", Inputs: Inputs{"from": text(`"b"`), "select": text(`"all"`)}}
	override := Provider{Type: "codex", Model: "usual"}
	tests := map[string]struct {
		stage    Node
		branch   string
		override Provider
		want     Provider
		inputs   Inputs
	}{
		"nothing said":          {plain, "claude", Provider{}, Provider{Type: "claude"}, nil},
		"the default":           {plain, "claude", override, Provider{Type: "codex", Model: "usual"}, nil},
		"the stage's":           {own, "claude", override, Provider{Type: "codex", Model: "mine"}, own.Inputs},
		"the provider's":        {own, "calm", override, Provider{Type: "codex", Model: "low"}, Inputs{"from": text(`"a"`), "from_parallel": text(`"x"`), "select": text(`"all"`)}},
		"the provider's inputs": {plain, "calm", override, Provider{Type: "codex", Model: "low"}, block.Providers[1].Inputs},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := tt.stage.InBranch(*block.Branch(tt.branch), tt.override)
			if diff := cmp.Diff(tt.want, *got.Provider); diff != "" {
				t.Errorf("provider (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.inputs, got.Inputs); diff != "" {
				t.Errorf("inputs (-want +got):\n%s", diff)
			}
		})
	}
	if plain.Provider != nil || len(block.Providers[1].Inputs) != 2 {
		t.Error("the plan was changed")
	}
	if block.Branch("gpt") != nil {
		t.Error("a provider with another name is known by its own")
	}
}

// K21, D12.
func TestSelect(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "latest", `{"select":"latest"}`: "latest", `{"select":"history"}`: "history", `{"select":"all"}`: "history",
		`{"select":"x"}`: "latest", `{"select":7}`: "latest",
	} {
		var in Inputs
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			t.Fatal(err)
		}
		if got := in.Select(); got != want {
			t.Errorf("%s selects %q, want %q", text, got, want)
		}
	}
	if in := (Inputs{"from": json.RawMessage(`"a"`)}); in.From() != "a" || (Inputs{}).From() != "" {
		t.Error("From is wrong")
	}
}

// BASH-BEHAVIOUR 2: the settings of a termination, and their defaults.
func TestTermination(t *testing.T) {
	tests := []struct {
		text                string
		kind                string
		limit, from, agreed int
	}{
		{`{}`, TypeFixed, 1, 1, 2},
		{`{"type":"judgment","min_iterations":3,"consensus":4,"max":9}`, TypeJudgment, 9, 3, 4},
		{`{"type":"","max":"12"}`, TypeFixed, 12, 1, 2},
		{`{"type":7,"max":"many","consensus":true}`, TypeFixed, 1, 1, 2},
	}
	for _, tt := range tests {
		var term Termination
		if err := json.Unmarshal([]byte(tt.text), &term); err != nil {
			t.Fatal(err)
		}
		if term.Type() != tt.kind || term.Max() != tt.limit || term.MinIterations() != tt.from || term.Consensus() != tt.agreed {
			t.Errorf("%s: %s %d %d %d", tt.text, term.Type(), term.Max(), term.MinIterations(), term.Consensus())
		}
	}
	if term := (Termination{"max": 3, "check_before": true}); term.Max() != 3 || !term.CheckBefore() || (Termination{"check_before": "yes"}).CheckBefore() {
		t.Errorf("%v", term)
	}
}
