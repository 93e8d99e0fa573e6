package crashtest_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// A process left running is reported and ended.
func TestLeftProcesses(t *testing.T) {
	trials, _ := newTrials(t, leaves)
	trials.Kills, trials.Only = 8, 4
	r := testkit.Must(trials.Run(t.Context()))
	left := r.Trials[0].LeftProcesses
	if r.Equal() || len(left) == 0 || !strings.HasPrefix(left[0].Command, "sleep") || !left[0].Ended {
		t.Errorf("%+v", r.Trials)
	}
}
