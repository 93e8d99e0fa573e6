package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U106, D14: an agent of a parallel block gets files in its provider's folder, output_path included, and the loop
// state of its provider.
func TestAttemptInABlock(t *testing.T) {
	var got sdk.ExecuteRequest
	b := newFixture(t, func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		got = req
		return resultWriter(`{"summary":"done"}`)(ctx, req, x)
	})
	b.maker.Plan.Nodes[0] = plan.Node{Path: "0", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "agent", As: "calm"}}, Stages: []plan.Node{{
		Path: "0.0", ID: "draft", Kind: plan.KindStage, Prompt: "${PROGRESS}|${OUTPUT}|${OUTPUT_PATH}", OutputPath: "../plans/${SESSION}.md",
		Termination: plan.Termination{"type": "fixed", "max": 1},
	}}}
	blob := testkit.Must(b.maker.Dir.Write("blob", []byte("turn 3")))
	b.state.Nodes["0"] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeRunning}, NodeLoops: state.NodeLoops{Branches: map[string]state.Branch{
		"calm": {Status: state.NodeRunning, Loop: state.Loop{Progress: state.Progress{Phase: state.PhaseAttempt}, CallInFlight: state.CallInFlight{Checkpoint: &event.CheckpointData{Turn: 3, Blob: blob}}}},
	}}}
	at := event.Location{Node: "0.0", Visit: 1, Run: 1, Branch: "calm", Iteration: 1}
	c := schedule.Command{Kind: schedule.Attempt, Key: at.Key(event.KeyAttempt, 1), Location: at, Attempt: 1}
	e := b.maker.Run(t.Context(), kernel.EffectRequest{Command: c, Node: progress.StageAt(b.maker.Plan, b.state, at), State: b.state, Record: b.records.record})
	if e.Type != event.IterationComplete {
		t.Fatalf("%s %s", e.Type, e.Data)
	}
	scope := filepath.Join(b.root, ".claude/pipeline-runs/demo/parallel-00-both/providers/calm")
	output := filepath.Join(scope, "plans/demo.md")
	testkit.Equal(t, filepath.Join(scope, "progress.md")+"||"+strings.TrimPrefix(output, b.root+"/"), got.Prompt)
	if got.Paths.Output != output || got.Paths.Progress != filepath.Join(scope, "progress.md") || got.Environment["MOCK_PROVIDER"] != "calm" {
		t.Errorf("paths %+v, environment %v", got.Paths, got.Environment)
	}
	if got.Resume == nil || string(got.Resume.Checkpoint.Blob) != "turn 3" {
		t.Errorf("resume %+v", got.Resume)
	}
	if text, err := os.ReadFile(output); err != nil || string(text) != "working\n" {
		t.Errorf("declared output %q, %v", text, err)
	}
	var types []event.Type
	for _, e := range b.records.events {
		if types = append(types, e.Type); e.Type == event.WorkerComplete && (e.Cursor.Provider != "calm" || !e.Informative()) {
			t.Errorf("worker_complete at %+v, informative %v", e.Cursor, e.Informative())
		}
	}
	testkit.Equal(t, []event.Type{event.WorkerComplete}, types)
}
