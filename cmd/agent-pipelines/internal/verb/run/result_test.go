package run

import (
	"bytes"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func TestWriteResult(t *testing.T) {
	in, cost := int64(1204), 0.5
	for _, tt := range []struct {
		name   string
		result engine.Result
		want   string
	}{
		{
			"loop at its maximum",
			engine.Result{Session: "s", Mode: "loop", Status: state.Completed, Reason: "max_iterations", Duration: 1240 * time.Millisecond, Dir: "/d"},
			"Session 's' reached its maximum of iterations\n  Time:     1.2s\n  Output:   /d\n",
		},
		{
			"paused",
			engine.Result{
				Session: "s", Mode: "pipeline", Status: state.Paused, PauseKind: state.PauseSignal, Reason: "SIGINT", Completed: []string{"plan"},
				Usage: event.Usage{InputTokens: &in, CostUSD: &cost}, Dir: "/d", ResumeCommand: "agent-pipelines resume s",
			},
			"Session 's' paused (signal): SIGINT\n  Stages:   plan\n  Time:     0s\n  Usage:    1,204 tokens in, $0.5000\n  Output:   /d\n" +
				"To resume: agent-pipelines resume s\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			writeResult(&out, &tt.result)
			compare(t, tt.want, out.String())
		})
	}
}
