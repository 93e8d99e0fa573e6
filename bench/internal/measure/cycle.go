package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// returns is the number of returns in the rows about cycles, the maximum of an edge.
const returns = 10

// cycles measures the time from a stage's last result over an edge back to the next iteration,
// beside the target and beside writing and syncing the same lines.
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
	const sampled = "sampled"
	if err := p.Run(ctx, sampled, judge); err != nil {
		return nil, err
	}
	lines, err := transition(p.Session(sampled))
	if err != nil {
		return nil, err
	}
	bare := func(context.Context) (float64, error) { return b.synced(lines) }
	s, err := sample.InTurn(ctx, b.Starts, ours, bare)
	if err != nil {
		return nil, err
	}
	label := "from a stage's last result over an edge back to the next start (U056)"
	return []table.Row{
		{Name: label, Ours: s[0], Each: 2*returns + 1, Peer: "target", Theirs: sample.Constant(transitionTarget, len(s[0]))},
		{Name: label, Ours: s[0], Each: 2*returns + 1, Peer: fmt.Sprintf("write and fdatasync of its %d lines", len(lines)), Theirs: s[1]},
	}, nil
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

// transition returns the journal lines of the first return: from the last result of a stage to the
// start of the next one, without informational events, which share a commit.
func transition(session string) ([][]byte, error) {
	lines, err := ground.Lines(session)
	if err != nil {
		return nil, err
	}
	var found [][]byte
	ended := false
	for _, line := range lines {
		e, err := event.ParseLine(line)
		switch {
		case err != nil:
			return nil, err
		case e.Type == event.IterationComplete:
			found, ended = nil, true
		case ended && !e.Informative():
			found = append(found, append(bytes.Clone(line), '\n'))
		}
		if ended && e.Type == event.IterationStart {
			return found, nil
		}
	}
	return nil, errors.New("the session has no transition")
}
