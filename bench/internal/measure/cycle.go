package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// returns is the number of returns in the rows about cycles, the maximum of an edge.
const returns = 10

// cycles measures the time from a stage's last result over an edge back to the next iteration,
// beside the target.
func (b *bench) cycles(ctx context.Context) ([]table.Row, error) {
	p, err := b.Project(ground.Cycle("mock", returns))
	if err != nil {
		return nil, err
	}
	judge, err := failing(p.Dir)
	if err != nil {
		return nil, err
	}
	n := 0
	ours := func(ctx context.Context) (float64, error) {
		n++
		session := fmt.Sprintf("s%d", n)
		if err := p.Run(ctx, session, judge); err != nil {
			return 0, err
		}
		events, err := p.Journal(session)
		if err != nil {
			return 0, err
		}
		times := changes(events)
		if want := 2*returns + 1; len(times) != want {
			return 0, fmt.Errorf("session %s changed its stage %d times, not %d", session, len(times), want)
		}
		return sample.Series(times).Median(), nil
	}
	s, err := sample.InTurn(ctx, b.Starts, ours)
	if err != nil {
		return nil, err
	}
	return []table.Row{{
		Name: "from a stage's last result over an edge back to the next start (U056)", Ours: s[0], Each: 2*returns + 1,
		Peer: "target", Theirs: sample.Constant(transitionTarget, len(s[0])),
	}}, nil
}

// failing creates a configuration of the mock with which the stage judge fails as often as allowed,
// and returns the setting that names it.
func failing(dir string) (string, error) {
	replies := make([]map[string]any, returns)
	for i := range replies {
		replies[i] = map[string]any{"node": "judge", "visit": i + 1, "result": map[string]string{"summary": "judged", "outcome": "fail"}}
	}
	text, err := json.Marshal(map[string]any{"replies": replies})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "mock.json")
	return "MOCK_CONFIG=" + file, os.WriteFile(file, text, 0o600)
}
