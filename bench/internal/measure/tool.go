package measure

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// The targets of REQUIREMENTS U184; the hard limit is twice as much.
const (
	toolTarget = 0.025 // seconds, the dispatch of a tool
	stepTarget = 0.050 // seconds, the overhead of a step
)

// tools measures the work of the provider agent and the kernel between a reply of an instant model and its next
// request: a tool call with its intent and result on disk, and the transition between two steps.
func (b *bench) tools(ctx context.Context) ([]table.Row, error) {
	turns, err := b.turns(ctx)
	if err != nil {
		return nil, err
	}
	steps, err := b.steps(ctx)
	return append(turns, steps...), err
}

func (b *bench) turns(ctx context.Context) ([]table.Row, error) {
	m, err := b.StartModel(b.Turns)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p, err := b.Project(ground.Loop("agent", 1))
	if err != nil {
		return nil, err
	}
	notes := strings.Repeat("One line of the notes.\n", b.Turns+1) // the file that the model requests, with a line per turn
	if err := os.WriteFile(filepath.Join(p.Dir, ground.File), []byte(notes), 0o600); err != nil {
		return nil, err
	}
	s, err := sample.InTurn(ctx, b.rounds(10), gap(p, m, true))
	if err != nil {
		return nil, err
	}
	return []table.Row{{
		Name: "a tool call, from a model's reply to its next request, all on the disk (U184)", Ours: s[0], Each: b.Turns,
		Peer: "target", Theirs: sample.Constant(toolTarget, len(s[0])),
	}}, nil
}

// steps measures the time between two steps. Each step finishes with the model's first reply.
func (b *bench) steps(ctx context.Context) ([]table.Row, error) {
	m, err := b.StartModel(0)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	p, err := b.Project(ground.Steps("mock", "agent"))
	if err != nil {
		return nil, err
	}
	planned := make([]string, b.Steps)
	for i := range planned {
		planned[i] = fmt.Sprintf(`{"id":"s%d"}`, i+1)
	}
	replies := filepath.Join(p.Dir, "mock.json")
	text := fmt.Sprintf(`{"replies":[{"artifact":{"steps":[%s]}}]}`, strings.Join(planned, ","))
	if err := os.WriteFile(replies, []byte(text), 0o600); err != nil {
		return nil, err
	}
	m.Environment = append(m.Environment, "MOCK_CONFIG="+replies)
	s, err := sample.InTurn(ctx, b.rounds(10), gap(p, m, false))
	if err != nil {
		return nil, err
	}
	return []table.Row{{
		Name: "a step, from the last reply in one to the first request of the next (U184)", Ours: s[0], Each: b.Steps - 1,
		Peer: "target", Theirs: sample.Constant(stepTarget, len(s[0])),
	}}, nil
}

// gap returns a subject that runs a session and returns the model's median waiting time in seconds. turn selects the
// gaps between the replies of one attempt, otherwise the gaps between attempts count.
func gap(p *ground.Project, m *ground.Model, turn bool) sample.Subject {
	return func(ctx context.Context) (float64, error) {
		session := p.NewSession()
		if err := p.Run(ctx, session, m.Environment...); err != nil {
			return 0, err
		}
		var times sample.Series
		for _, g := range m.Gaps() {
			if g.Turn == turn {
				times = append(times, g.Seconds)
			}
		}
		if len(times) == 0 {
			return 0, fmt.Errorf("session %s: the model was not asked as often as planned", session)
		}
		return times.Median(), nil
	}
}
