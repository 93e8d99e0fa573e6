package effect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Providers finds providers by name, configured for a node. Its error lists the existing providers.
type Providers interface {
	Provider(ctx context.Context, name string, n *plan.Node) (sdk.Provider, error)
}

// Env is the environment of a run's effects. Plan, Project, Dir and Log are required. It is safe for concurrent use.
type Env struct {
	Plan    *plan.Plan
	Project *store.Project
	Dir     *store.Dir
	Inputs  *inputs.Reader // of the session; attempts and strategies require it
	Log     hclog.Logger
	// Redactor removes secrets from written and displayed texts. Texts of agents and for agents use its ForAgent.
	// Default: a redactor without values.
	Redactor *redact.Redactor
	// Program is the name of the program in command lines. Default: command lines begin with the verb.
	Program string
}

// Effect is one effect of a run.
type Effect struct {
	*Env
	kernel.EffectRequest
	Log hclog.Logger // with the session and the fields of New
}

// New returns the effect of a request. name names its logger after the package that performs the effect; fields are
// added to each log line.
func (e *Env) New(name string, r kernel.EffectRequest, fields ...any) *Effect {
	return &Effect{Env: e, EffectRequest: r, Log: e.Log.Named(name).With("session", r.State.Session).With(fields...)}
}

// Loop returns the iteration loop at the effect's location.
func (e *Effect) Loop() state.Loop {
	l := e.State.LoopAt(e.Command.Location)
	if failpoint.HasDefect(failpoint.SkipDedupe) {
		l.Calls, l.Checkpoint = nil, nil
	}
	return l
}

// Iteration returns the directory of the effect's iteration.
func (e *Effect) Iteration() (store.Iteration, error) {
	n, err := store.NodeAt(e.Plan, e.Command.Location)
	return n.Iteration(e.Command.Location.Iteration), err
}

// ProgressFile returns the name of the progress file that the agents at the location share.
func (e *Effect) ProgressFile() (string, error) {
	at, find := e.Command.Location, store.NodeAt
	switch {
	case at.Branch != "":
		find = store.ProviderAt
	case e.State.Mode == "loop":
		return store.ProgressFile(e.State.Session), nil
	}
	n, err := find(e.Plan, at)
	return n.Progress(), err
}

// Budget returns the spending limits of a provider's call, nil without limits.
func (e *Effect) Budget() *sdk.Budget {
	part := e.Loop().Allowance()
	if part == nil {
		return nil
	}
	return &sdk.Budget{MaxUSD: part.USD, MaxTokens: part.Tokens}
}

// Event returns an event about the effect.
func (e *Effect) Event(t event.Type, data any) event.Event {
	about := event.New(t, e.Command.Location.Cursor(), e.Command.Key, data)
	about.Attempt = e.Command.Attempt
	return about
}

// RecordInfo records an informational event. An error is only logged.
func (e *Effect) RecordInfo(ctx context.Context, about event.Event) {
	if err := e.Record(ctx, about); err != nil {
		e.Log.Debug("event not recorded", "type", about.Type, "error", err)
	}
}

// RecordLate records a delivery that came after its attempt was abandoned. If d.Attempt is 0, the attempt is the
// effect's own.
func (e *Effect) RecordLate(d event.LateDeliveryData) {
	d.Attempt = cmp.Or(d.Attempt, e.Command.Attempt)
	e.Log.Warn("refused a late delivery of an abandoned attempt", "what", d.Kind, "path", d.Path, "of", d.Attempt)
	e.RecordInfo(context.Background(), e.Event(event.LateDelivery, d))
}

// Failure returns an error of the effect as event data, without secrets. attempt is the number of the iteration's
// attempt, 0 for none.
func (e *Effect) Failure(err error, attempt int) *event.FailureData {
	d := event.NewFailureData(err)
	d.Node, d.Stage, d.Iteration, d.Attempt = e.Node.ID, e.Node.ID, e.Command.Location.Iteration, attempt
	d.Remedy, d.ResumeCommand = failure.Render(d.Remedy, e.Program), failure.Next("resume", e.State.Session).Command(e.Program)
	if bad := (*artifact.ContractError)(nil); errors.As(err, &bad) {
		d.Faults = artifact.FaultData(bad.Faults)
	}
	d = redaction.Failure(e.Redactor, d)
	return &d
}

// WriteFailure writes a failure to error.json of an iteration.
func (e *Effect) WriteFailure(it store.Iteration, d *event.FailureData) error {
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("render %s: %w", it.Error(), err)
	}
	return e.Dir.Replace(it.Error(), append(text, '\n'))
}

// AddInputPaths adds the paths of a node's stage, of its input artifact and of the start artifact of its pipeline.
func (e *Effect) AddInputPaths(req *sdk.HookRequest, n *plan.Node) {
	req.StageDir = e.Project.StageDir(n)
	if in, has := artifact.FindInput(e.Plan, e.State, n, e.Command.Location); has {
		req.InputArtifactFile = e.Dir.Abs(in.Ref.Path)
	}
	if ref, began := artifact.StartArtifact(e.Plan, e.State, e.Command.Location.Outer()); began {
		req.StartArtifactFile = e.Dir.Abs(ref.Path)
	}
}
