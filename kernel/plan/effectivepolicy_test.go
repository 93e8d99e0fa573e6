package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestContext(t *testing.T) {
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
			compare(t, tt.want, p.EffectiveContext(node))
		})
	}
}

func TestCommands(t *testing.T) {
	p := &Plan{Pipeline: Pipeline{
		Commands:  map[string]string{"test": "pipeline", "lint": "pipeline", "build": "pipeline"},
		Overrides: &Overrides{Commands: map[string]string{"test": "flag"}},
	}}
	node := &Node{Commands: map[string]string{"test": "stage", "lint": "stage"}}
	want := map[string]string{"test": "flag", "lint": "stage", "build": "pipeline"}
	compare(t, want, p.EffectiveCommands(node))
	compare(t, map[string]string{}, new(Plan).EffectiveCommands(new(Node)))
}

// U130: a node's escalation overrides the pipeline's, member by member.
func TestEscalation(t *testing.T) {
	yes, no := true, false
	pipeline := &Policy{Escalation: &Escalation{OnLimit: ToFailed, Wait: &yes, Timeout: 60, Poll: 1}}
	for name, tt := range map[string]struct {
		node *Escalation
		want Escalation
	}{
		"nothing said": {nil, *pipeline.Escalation},
		"a time":       {&Escalation{Timeout: 5, OnTimeout: ToPause}, Escalation{OnLimit: ToFailed, Wait: &yes, Timeout: 5, OnTimeout: ToPause, Poll: 1}},
		"no waiting":   {&Escalation{Wait: &no}, Escalation{OnLimit: ToFailed, Wait: &no, Timeout: 60, Poll: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &Plan{Pipeline: Pipeline{Policy: pipeline}, Nodes: []Node{{Path: "0", Policy: &Policy{Escalation: tt.node}}}}
			got := p.EffectivePolicy(&p.Nodes[0]).Escalation
			compare(t, &tt.want, got)
			if got.Waits() == (tt.want.Wait == &no) {
				t.Errorf("Waits = %t", got.Waits())
			}
		})
	}
}

func TestPolicy(t *testing.T) {
	pipeline := &Policy{
		Timeout: 3600, StageTimeout: 300, IdleTimeout: 60, Recovery: RecoveryAsk, Env: json.RawMessage(`"minimal"`), Required: true,
		Retry: &Retry{Attempts: 3, Stage: 1, Backoff: []float64{1, 2}}, Budget: &Budget{Total: json.RawMessage("9")},
	}
	tests := map[string]struct {
		pipeline, node *Policy
		want           Policy
	}{
		"nothing said":     {nil, nil, Policy{}},
		"the node's alone": {nil, &Policy{Timeout: 5, Required: true}, Policy{Timeout: 5, Required: true}},
		"the pipeline's alone": {pipeline, nil, Policy{
			StageTimeout: 300, IdleTimeout: 60, Recovery: RecoveryAsk, Env: pipeline.Env, Retry: pipeline.Retry, Budget: pipeline.Budget,
		}},
		"member by member": {
			pipeline, &Policy{Timeout: 5, Recovery: RecoveryRerun, Env: json.RawMessage(`["HOME"]`), Retry: &Retry{Attempts: 1}},
			Policy{
				Timeout: 5, StageTimeout: 300, IdleTimeout: 60, Recovery: RecoveryRerun, Env: json.RawMessage(`["HOME"]`),
				Retry: &Retry{Attempts: 1, Stage: 1, Backoff: []float64{1, 2}}, Budget: pipeline.Budget,
			},
		},
		"the stricter mode": {
			&Policy{Mode: ModeAirgapped}, &Policy{Mode: ModeOpen}, Policy{Mode: ModeAirgapped},
		},
		"patience": {
			&Policy{Mode: ModeBurst, StageTimeout: 60, IdleTimeout: 10, Retry: &Retry{Stage: 1}}, &Policy{Timeout: 5},
			Policy{Mode: ModeBurst, Timeout: 10, StageTimeout: 120, IdleTimeout: 20, Retry: &Retry{Attempts: 4, Stage: 1}},
		},
		"tools and secrets": {
			&Policy{Tools: &Tools{AllowedCommands: []string{"go"}, CommandTimeout: 9}, Secrets: &Secrets{Patterns: []string{"a"}}},
			&Policy{Tools: &Tools{AllowedCommands: []string{}, MaxResultTokens: 5}, Secrets: &Secrets{Patterns: []string{"b"}}},
			Policy{
				Tools:   &Tools{AllowedCommands: []string{}, CommandTimeout: 9, MaxResultTokens: 5},
				Secrets: &Secrets{Patterns: []string{"a", "b"}},
			},
		},
		"rules of approval": {
			&Policy{Approvals: &Approvals{
				Categories: map[string]Approval{"file_read": ApprovalAuto, "file_write": ApprovalPrompt},
				Rules:      []ApprovalRule{{Pattern: "below", Policy: ApprovalAuto}}, Protected: []string{"a"},
			}},
			&Policy{Approvals: &Approvals{
				Categories: map[string]Approval{"file_write": ApprovalDeny},
				Rules:      []ApprovalRule{{Pattern: "own", Policy: ApprovalDeny}}, Protected: []string{"b"},
			}},
			Policy{Approvals: &Approvals{
				Categories: map[string]Approval{"file_read": ApprovalAuto, "file_write": ApprovalDeny},
				Rules:      []ApprovalRule{{Pattern: "own", Policy: ApprovalDeny}, {Pattern: "below", Policy: ApprovalAuto}},
				Protected:  []string{"b", "a"},
			}},
		},
		"for users": {
			&Policy{Feedback: &Feedback{Max: 5}, Approvals: &Approvals{Default: ApprovalDeny, Timeout: 9, OnTimeout: ApprovalSkip}},
			&Policy{Feedback: &Feedback{Enabled: true}, Approvals: &Approvals{Default: ApprovalAuto, NonInteractive: ApprovalFail}},
			Policy{
				Feedback:  &Feedback{Enabled: true, Max: 5},
				Approvals: &Approvals{Default: ApprovalAuto, Timeout: 9, OnTimeout: ApprovalSkip, NonInteractive: ApprovalFail},
			},
		},
		"for users, the pipeline's alone": {
			&Policy{Feedback: &Feedback{Max: 5}, Approvals: &Approvals{Timeout: 9}}, &Policy{},
			Policy{Feedback: &Feedback{Max: 5}, Approvals: &Approvals{Timeout: 9}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Plan{Pipeline: Pipeline{Policy: tt.pipeline}}
			compare(t, tt.want, p.EffectivePolicy(&Node{Policy: tt.node}))
		})
	}
	compare(t, 3, pipeline.Retry.Attempts)
	compare(t, Policy{}, new(Plan).EffectivePolicy(nil))
}

// A block's policy holds for its stages unless they override it.
func TestPolicyOfAStageInABlock(t *testing.T) {
	p := &Plan{
		Pipeline: Pipeline{Policy: &Policy{StageTimeout: 300, IdleTimeout: 60}},
		Nodes: []Node{
			{Path: "0", Kind: KindStage},
			{Path: "1", Kind: KindParallel, Policy: &Policy{Timeout: 20, IdleTimeout: 5, Required: true}, Stages: []Node{
				{Path: "1.0", Kind: KindStage}, {Path: "1.1", Kind: KindStage, Policy: &Policy{IdleTimeout: 7}},
			}},
		},
	}
	for path, want := range map[string]Policy{
		"0":   {StageTimeout: 300, IdleTimeout: 60},
		"1":   {Timeout: 20, StageTimeout: 300, IdleTimeout: 5, Required: true},
		"1.0": {Timeout: 20, StageTimeout: 300, IdleTimeout: 5},
		"1.1": {Timeout: 20, StageTimeout: 300, IdleTimeout: 7},
	} {
		stage := *p.Find(path) // a copy with a provider's settings
		if diff := cmp.Diff(want, p.EffectivePolicy(&stage)); diff != "" {
			t.Errorf("PolicyOf %s (-want +got):\n%s", path, diff)
		}
	}
}

func TestSessionInputsNilAndEmpty(t *testing.T) {
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
