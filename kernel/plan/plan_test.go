package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// edgePlan returns a pipeline of four nodes, the third of which embeds two others.
func edgePlan() *Plan {
	inner := &Plan{Nodes: []Node{
		{Path: "0", ID: "one", Kind: KindStage},
		{Path: "1", ID: "two", Kind: KindStage, Transitions: map[Outcome]Edge{OutcomeFail: {To: "one", Limit: 2}, OutcomeReject: {To: ToDone}, OutcomeSkip: {To: ToNext}}},
	}}
	return &Plan{Nodes: []Node{
		{Path: "0", ID: "plan", Kind: KindStage},
		{Path: "1", ID: "work", Kind: KindStage, Transitions: map[Outcome]Edge{
			OutcomeSuccess: {To: "last"}, OutcomeFail: {To: "plan", Feedback: "why", OnLimit: ToFailed}, OutcomeReject: {To: "work", Limit: 12},
			OutcomeTimeout: {To: ToRetry}, OutcomeError: {To: ToAbort}, OutcomeSkip: {To: ToDone}, OutcomeRetry: {To: ToNext}, OutcomeBudget: {To: "gone"},
		}},
		{Path: "2", ID: "sub", Kind: KindPipeline, Plan: inner},
		{Path: "3", ID: "last", Kind: KindStage},
	}}
}

// U082, U122, K36, K37: the targets of outcomes, and the counted edges.
func TestRoute(t *testing.T) {
	for name, tt := range map[string]struct {
		path    string
		outcome Outcome
		change  func(*Plan)
		want    Route
	}{
		"success, unwritten":        {"0", OutcomeSuccess, nil, Route{To: "1"}},
		"skip, unwritten":           {"0", OutcomeSkip, nil, Route{To: "1"}},
		"failure of a plain node":   {"0", OutcomeError, nil, Route{To: ToFailed}},
		"escalation, unwritten":     {"0", OutcomeEscalate, nil, Route{To: ToPause}},
		"budget, unwritten":         {"0", OutcomeBudget, nil, Route{To: ToPause}},
		"the ladder":                {"0", OutcomeError, func(p *Plan) { p.Nodes[0].Steps = &Steps{} }, Route{To: ToRetry}},
		"the ladder of the policy":  {"0", OutcomeFail, func(p *Plan) { p.Pipeline.Policy = &Policy{Retry: &Retry{Stage: 1}} }, Route{To: ToRetry}},
		"the ladder beside edges":   {"1", OutcomeEscalate, nil, Route{To: ToPause}},
		"the last node":             {"3", OutcomeSuccess, nil, Route{To: ToDone}},
		"forward":                   {"1", OutcomeSuccess, nil, Route{Edge: Edge{To: "last"}, To: "3"}},
		"back":                      {"1", OutcomeFail, nil, Route{Edge: Edge{To: "plan", Feedback: "why", OnLimit: ToFailed}, To: "0", Name: "work:fail->plan", Limit: 3}},
		"to itself, above the most": {"1", OutcomeReject, nil, Route{Edge: Edge{To: "work", Limit: 12}, To: "1", Name: "work:reject->work", Limit: 10}},
		"retry":                     {"1", OutcomeTimeout, nil, Route{Edge: Edge{To: ToRetry}, To: ToRetry}},
		"abort":                     {"1", OutcomeError, nil, Route{Edge: Edge{To: ToAbort}, To: ToAbort}},
		"done":                      {"1", OutcomeSkip, nil, Route{Edge: Edge{To: ToDone}, To: ToDone}},
		"next":                      {"1", OutcomeRetry, nil, Route{Edge: Edge{To: ToNext}, To: "2"}},
		"unknown":                   {"1", OutcomeBudget, nil, Route{Edge: Edge{To: "gone"}, To: ToFailed}},
		"the policy's default":      {"1", OutcomeFail, func(p *Plan) { p.Nodes[1].Policy = &Policy{Cycles: &Cycles{Default: 5}} }, Route{Edge: Edge{To: "plan", Feedback: "why", OnLimit: ToFailed}, To: "0", Name: "work:fail->plan", Limit: 5}},
		"the policy's most":         {"1", OutcomeReject, func(p *Plan) { p.Pipeline.Policy = &Policy{Cycles: &Cycles{Max: 4}} }, Route{Edge: Edge{To: "work", Limit: 12}, To: "1", Name: "work:reject->work", Limit: 4}},
		"the command line":          {"1", OutcomeFail, func(p *Plan) { p.Pipeline.Overrides = &Overrides{PathOverrides: PathOverrides{MaxCycles: 1}} }, Route{Edge: Edge{To: "plan", Feedback: "why", OnLimit: ToFailed}, To: "0", Name: "work:fail->plan", Limit: 1}},
		"inside, forward":           {"2.0", OutcomeSuccess, nil, Route{To: "2.1"}},
		"inside, back":              {"2.1", OutcomeFail, nil, Route{Edge: Edge{To: "one", Limit: 2}, To: "2.0", Name: "2/two:fail->one", Limit: 2}},
		"inside, the last":          {"2.1", OutcomeSuccess, nil, Route{To: "2"}},
		"inside, done":              {"2.1", OutcomeReject, nil, Route{Edge: Edge{To: ToDone}, To: "2"}},
		"inside, next of the last":  {"2.1", OutcomeSkip, nil, Route{Edge: Edge{To: ToNext}, To: "2"}},
		"inside, the command line":  {"2.1", OutcomeFail, func(p *Plan) { p.Pipeline.Overrides = &Overrides{PathOverrides: PathOverrides{MaxCycles: 1}} }, Route{Edge: Edge{To: "one", Limit: 2}, To: "2.0", Name: "2/two:fail->one", Limit: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := edgePlan()
			if tt.change != nil {
				tt.change(p)
			}
			compare(t, tt.want, p.Route(p.Find(tt.path), tt.outcome))
		})
	}
}

func TestCycleLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		cycles *Cycles
		want   Cycles
	}{
		"nothing said":     {nil, Cycles{Default: 3, Max: 10, Session: 30}},
		"some of it":       {&Cycles{Session: 5, Identical: 2}, Cycles{Default: 3, Max: 10, Session: 5, Identical: 2}},
		"a most below it":  {&Cycles{Max: 2}, Cycles{Default: 2, Max: 2, Session: 30}},
		"all of it":        {&Cycles{Default: 1, Max: 4, Session: 6, Identical: 3}, Cycles{Default: 1, Max: 4, Session: 6, Identical: 3}},
		"default over max": {&Cycles{Default: 9, Max: 4}, Cycles{Default: 4, Max: 4, Session: 30}},
	} {
		p := &Plan{Pipeline: Pipeline{Policy: &Policy{Cycles: tt.cycles}}, Nodes: []Node{{Path: "0", ID: "a"}}}
		if diff := cmp.Diff(tt.want, p.CycleLimits(&p.Nodes[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHasContract(t *testing.T) {
	for name, tt := range map[string]struct {
		node Node
		want bool
	}{
		"plain":          {Node{Transitions: map[Outcome]Edge{}}, false},
		"an artifact":    {Node{Artifact: &Artifact{}}, true},
		"checks":         {Node{Checks: []Check{{}}}, true},
		"steps":          {Node{Steps: &Steps{}}, true},
		"edges":          {Node{Transitions: map[Outcome]Edge{OutcomeFail: {To: ToDone}}}, true},
		"a mere policy":  {Node{Policy: &Policy{Required: true}}, false},
		"a termination ": {Node{Termination: Termination{"type": TypeChecks}}, false},
	} {
		if got := tt.node.HasContract(); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestChecksAt(t *testing.T) {
	n := Node{Checks: []Check{{ID: "a"}, {ID: "b", At: AtEnter}, {ID: "c", At: AtExit}}}
	ids := func(checks []Check) (all string) {
		for _, c := range checks {
			all += c.ID
		}
		return all
	}
	compare(t, "b", ids(n.ChecksAt(AtEnter)))
	compare(t, "ac", ids(n.ChecksAt(AtExit)))
}

// U113: only top-level nodes are skipped.
func TestSkipped(t *testing.T) {
	p := edgePlan()
	if p.Skipped(p.Find("1")) {
		t.Error("skipped without an override")
	}
	p.Pipeline.Overrides = &Overrides{PathOverrides: PathOverrides{Skip: []string{"work", "one"}}}
	for path, want := range map[string]bool{"0": false, "1": true, "2": false, "2.0": false} {
		if got := p.Skipped(p.Find(path)); got != want {
			t.Errorf("node %s: %v", path, got)
		}
	}
}

// The ceilings of a node are those of the run, of each pipeline that embeds it, and its own; in blocks those of the
// block and of the stage.
func TestCeilings(t *testing.T) {
	cost := func(usd float64) *Policy { return &Policy{Cost: &Cost{MaxUSD: usd}} }
	inner := &Plan{Pipeline: Pipeline{Policy: cost(3)}, Nodes: []Node{{Path: "0", ID: "a", Policy: cost(4)}, {Path: "1", ID: "b"}}}
	p := &Plan{Pipeline: Pipeline{Policy: cost(1)}, Nodes: []Node{
		{Path: "0", ID: "plain"},
		{Path: "1", ID: "sub", Kind: KindPipeline, Plan: inner, Policy: cost(2)},
		{Path: "2", ID: "block", Kind: KindParallel, Policy: cost(5), Stages: []Node{{Path: "2.0", ID: "s", Policy: cost(6)}, {Path: "2.1", ID: "t", Policy: &Policy{}}}},
	}}
	type limit struct {
		scope string
		usd   float64
	}
	for path, want := range map[string][]limit{
		"":    {{"", 1}},
		"0":   {{"", 1}},
		"1":   {{"", 1}, {"1", 2}, {"1", 3}},
		"1.0": {{"", 1}, {"1", 2}, {"1", 3}, {"1.0", 4}},
		"1.1": {{"", 1}, {"1", 2}, {"1", 3}},
		"2":   {{"", 1}, {"2", 5}},
		"2.0": {{"", 1}, {"2", 5}, {"2.0", 6}},
		"2.1": {{"", 1}, {"2", 5}},
		"9":   {{"", 1}},
	} {
		var got []limit
		for _, c := range p.Ceilings(path) {
			got = append(got, limit{c.Scope, c.Cost.MaxUSD})
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(limit{})); diff != "" {
			t.Errorf("ceilings of %q (-want +got):\n%s", path, diff)
		}
	}
	if got := (&Plan{Nodes: []Node{{Path: "0"}}}).Ceilings("0"); got != nil {
		t.Errorf("without settings: %v", got)
	}
}

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
	compare(t, 3, p.Index("10"))
	compare(t, -1, p.Index("1.0"))
}

// A provider is written again in its original form, an edge in the short form if only its target is set.
func TestShortAndLongForms(t *testing.T) {
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
			compare(t, tt.text, string(got))
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

// U010: the model is the provider's, else the stage's, else the default of the provider's name; the provider's inputs
// override the stage's, key by key.
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
			compare(t, tt.want, *got.Provider)
			compare(t, tt.inputs, got.Inputs)
		})
	}
	if plain.Provider != nil || len(block.Providers[1].Inputs) != 2 {
		t.Error("the plan was changed")
	}
	if block.Branch("gpt") != nil {
		t.Error("a provider with another name is known by its own")
	}
}

// K21, D12: all is an alias of history, and any other value means latest.
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
	compare(t, "a", (Inputs{"from": json.RawMessage(`"a"`)}).From())
	compare(t, "", (Inputs{}).From())
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

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
