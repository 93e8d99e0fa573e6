package state

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// U041, K13: CanBecome allows exactly the transitions of the table.
func TestTransitions(t *testing.T) {
	all := []Status{Pending, Running, Paused, Completed, Failed, Aborted}
	allowed := map[Status][]Status{
		Pending: {Running}, Running: {Paused, Completed, Failed, Aborted}, Paused: {Running, Aborted}, Failed: {Running, Aborted},
	}
	for _, from := range all {
		var got []Status
		for _, to := range all {
			if from.CanBecome(to) {
				got = append(got, to)
			}
		}
		if diff := cmp.Diff(allowed[from], got); diff != "" {
			t.Errorf("from %s:\n%s", from, diff)
		}
		if from.Final() != (len(got) == 0) {
			t.Errorf("%s is final: %v, but %v can follow", from, from.Final(), got)
		}
	}
}

// Changing a clone never changes the original.
func TestCloneSharesNothing(t *testing.T) {
	original := State{
		Position: Position{Nodes: map[string]Node{"0": {
			NodeLoops: NodeLoops{
				Loop:     Loop{StrategyState: StrategyState{Decisions: []Decision{{Action: "stop"}}}, CallInFlight: CallInFlight{Calls: []Call{{Call: event.ToolCallData{CallID: "1"}}}}},
				Branches: map[string]Branch{"claude": {Loop: Loop{StrategyState: StrategyState{Decisions: []Decision{{Action: "stop"}}}}}},
				Steps:    map[string]Step{"s": {Loop: Loop{StrategyState: StrategyState{Decisions: []Decision{{Action: "stop"}}}}}},
			},
			Artifacts: map[string]event.Ref{"plan": {Path: "a"}},
		}}},
		Limits: Limits{Timers: map[event.Key]Timer{"t": {Purpose: "delay"}}, Cycles: map[string]Cycle{"e": {Reasons: []string{"r"}}}}, RunCounts: RunCounts{PriorRuns: map[string]int{"0": 1}, PriorVisits: map[string]int{"0": 1}},
		OpenQuestions: OpenQuestions{Questions: map[string]Question{"q": {Kind: "tool"}}}, UserInput: UserInput{Handled: []string{"1"}},
	}
	before := marshalText(t, original)
	c := original.Clone()
	n := c.Nodes["0"]
	n.Loop.Decisions[0].Action, n.Loop.Calls[0].Call.CallID = "x", "x"
	n.Branches["claude"].Loop.Decisions[0].Action, n.Steps["s"].Loop.Decisions[0].Action = "x", "x"
	n.Artifacts["plan"] = event.Ref{Path: "x"}
	c.Nodes["1"], c.Timers["x"], c.Questions["x"], c.PriorRuns["0"], c.PriorVisits["0"] = Node{}, Timer{}, Question{}, 2, 2
	c.Cycles["e"].Reasons[0], c.Handled[0] = "x", "x"
	if diff := cmp.Diff(before, marshalText(t, original)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(marshalText(t, State{}), marshalText(t, State{}.Clone())); diff != "" {
		t.Error(diff)
	}
}

func TestLoopAt(t *testing.T) {
	s := State{Position: Position{Nodes: map[string]Node{
		"0": {NodeLoops: NodeLoops{Loop: Loop{Progress: Progress{Iteration: 1}}}},
		"1": {NodeLoops: NodeLoops{Branches: map[string]Branch{"a": {Loop: Loop{Progress: Progress{Iteration: 2}}}, "b": {Loop: Loop{Progress: Progress{Iteration: 3}}}}}},
	}}}
	for want, loc := range []event.Location{1: {Node: "0"}, 2: {Node: "1.0", Branch: "a"}, 3: {Node: "1.4", Branch: "b"}} {
		if got := s.LoopAt(loc).Iteration; got != want {
			t.Errorf("loop at %+v is in iteration %d, want %d", loc, got, want)
		}
	}
	if l := s.LoopAt(event.Location{Node: "1.0", Branch: "c"}); l.Phase != "" || l.Iteration != 0 {
		t.Errorf("a provider that did not begin is at %+v", l)
	}
}

// EndedBy returns the Bash engine's names (BASH-BEHAVIOUR 4.3).
// Every constant of type Phase is known: a phase that is not could not be restored from state.json.
func TestEveryPhaseIsKnown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "loop.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || fmt.Sprint(spec.Type) != "Phase" {
			return true
		}
		found++
		if text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err != nil || !Phase(text).Known() {
			t.Errorf("%s: error %v", text, err)
		}
		return true
	})
	if found < 13 || Phase("").Known() || Phase("other").Known() {
		t.Errorf("%d phases", found)
	}
}

func TestEndedBy(t *testing.T) {
	for _, tt := range []struct{ strategy, reason, want string }{
		{"fixed", "Completed 2 iterations (max: 2)", "fixed"},
		{"judgment", "flat", "plateau"},
		{"judgment", "max_iterations", "max_iterations"},
		{"queue", "All beads complete", "queue"},
	} {
		if got := (BranchStage{Reason: tt.reason}).EndedBy(tt.strategy); got != tt.want {
			t.Errorf("%s that ended with %q: %s, want %s", tt.strategy, tt.reason, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	s, err := Parse([]byte(`{"session":"s","event_seq":7,"nodes":{"0":{"visit":1,"loop":{"phase":"decide"}}}}`))
	if err != nil || s.Seq != 7 || s.Nodes["0"].Loop.Phase != PhaseDecide {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Parse([]byte("{")); err == nil {
		t.Error("half a state was read")
	}
}

func marshalText(t *testing.T, s State) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// filler makes values of any type. empty decides whether to leave a field empty; number returns numbers that
// distinguish values.
type filler struct {
	empty  func() bool
	number func() int
}

// fill sets everything in v that JSON can hold.
func (f filler) fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 3, 4, 5, f.number(), time.UTC)))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(fmt.Sprintf(`{"n":%d}`, f.number()))))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !f.empty() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(key)
		f.fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.number()))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.number()))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.number()) / 8)
	default:
		panic(fmt.Sprintf("a state has a %s, which JSON may not hold", v.Type()))
	}
}

// roundTrip encodes a state and decodes it.
func roundTrip(s State) (State, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return State{}, err
	}
	return Parse(text)
}

// REQUIREMENTS 001 5.1: a state with every field set survives a JSON round trip.
func TestRoundTripOfEveryField(t *testing.T) {
	n := 0
	f := filler{empty: func() bool { return false }, number: func() int { n++; return n }}
	var whole State
	f.fill(reflect.ValueOf(&whole).Elem())
	got, err := roundTrip(whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole, got); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if copied := whole.Clone(); !reflect.DeepEqual(whole, copied) {
		t.Errorf("a clone lacks something:\n%s", cmp.Diff(whole, copied))
	}
	if n < 200 {
		t.Errorf("only %d values were filled", n)
	}
}

// States with some fields empty survive a JSON round trip, too.
func TestRoundTripOfAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := filler{empty: func() bool { return rapid.IntRange(0, 2).Draw(t, "empty") == 0 }, number: func() int { return rapid.IntRange(1, 1_000_000).Draw(t, "number") }}
		var s State
		f.fill(reflect.ValueOf(&s).Elem())
		got, err := roundTrip(s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

// FuzzParse reads any state. The state's JSON is stable, and changes of a clone do not change the state.
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
