package outcome

import (
	"context"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/engine/internal/snapshot"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Evaluator runs the checks of one run and evaluates its iterations. It is safe for concurrent use.
type Evaluator struct {
	*effect.Env
	Actions hook.Actions

	mu        sync.Mutex
	snapshots *snapshot.Repository // of the workspace, opened by the first check that requires them
}

// evaluation performs one check or evaluates one iteration.
type evaluation struct {
	*effect.Effect
	actions   hook.Actions
	snapshots func(ctx context.Context, session string) (*snapshot.Repository, error)
	at        event.Location
	loop      state.Loop
}

// openSnapshots returns the snapshots of the run's workspace.
func (s *Evaluator) openSnapshots(ctx context.Context, session string) (*snapshot.Repository, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshots != nil {
		return s.snapshots, nil
	}
	var err error
	s.snapshots, err = snapshot.OpenUser(ctx, s.Project.Path(), session)
	return s.snapshots, err
}

func (s *Evaluator) newEvaluation(r kernel.EffectRequest) *evaluation {
	e := s.New("contract", r, "stage", r.Node.ID, "iteration", r.Command.Location.Iteration)
	return &evaluation{Effect: e, actions: s.Actions, snapshots: s.openSnapshots, at: r.Command.Location, loop: e.Loop()}
}

// readResult reads the attempt's normalized result.
func (w *evaluation) readResult() (result.Reading, error) {
	text, err := w.Dir.ReadRef(w.loop.CompletedAttempt.Result)
	if err != nil {
		return result.Reading{}, err
	}
	return result.Normalize(text, nil, true)
}

// artifactSources returns the sources of the attempt's artifact.
func (w *evaluation) artifactSources(it store.Iteration, r result.Reading) artifact.Sources {
	l := artifact.Sources{Dir: w.Dir, Iteration: it, ResultMember: r.Result.Artifact}
	if w.loop.CompletedAttempt != nil {
		l.Output = w.loop.CompletedAttempt.Output
	}
	return l
}

// failureData returns an error of the evaluation as event data.
func (w *evaluation) failureData(err error) *event.FailureData { return w.Failure(err, w.loop.Attempt) }

// iterationEvaluation is the evaluation of one iteration.
type iterationEvaluation struct {
	*evaluation
	iterationDir store.Iteration
	attemptData  event.AttemptCompleteData
	reading      result.Reading
	facts        map[string]artifact.Facts // by check id, of measured and skipped checks
	candidate    artifact.Candidate
	faults       []schema.Fault // of the artifact
}
