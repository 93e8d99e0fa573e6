package effect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

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

// Providers finds providers by name, configured for a node. Its error lists the existing providers. write are absolute paths
// that an attempt's agent writes, missing ones and "" included; without them the provider is not executed.
type Providers interface {
	Provider(ctx context.Context, name string, n *plan.Node, write ...string) (sdk.Provider, error)
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

// StageDir returns the folder of a node's stage, "" if the node runs none. Of a shipped stage it is a copy in [StagesDir] with
// the files of the session's start, which an agent in a sandbox cannot change.
//
// If the session's own copy was changed, the error is of kind tampered. The originals are then in place again, and the
// changed files have the suffix .changed.
func (e *Env) StageDir(n *plan.Node) (string, error) {
	dir := e.Project.StageDir(n)
	folder, shipped := relativePath(e.Dir.Abs(store.LibraryDir), dir)
	if !shipped || len(e.Plan.Library) == 0 {
		return dir, nil
	}
	s, err := newShippedStage(e.Dir, e.Plan.Library, filepath.ToSlash(folder))
	if err != nil {
		return "", err
	}
	return s.dir, s.verify()
}

// PromptFile returns the absolute path of a node's prompt file; see [Env.StageDir] for shipped stages.
func (e *Env) PromptFile(n *plan.Node) (string, error) {
	file := n.PromptPath
	if !filepath.IsAbs(file) {
		file = filepath.Join(e.Project.Path(), file)
	}
	inStage, within := relativePath(e.Project.StageDir(n), file)
	if !within {
		return file, nil
	}
	dir, err := e.StageDir(n)
	return filepath.Join(dir, inStage), err
}

// relativePath returns the path of a file relative to a directory; within is false for a file outside of it.
func relativePath(dir, file string) (path string, within bool) {
	path, err := filepath.Rel(dir, file)
	return path, err == nil && filepath.IsLocal(path)
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

// DeliveryMode returns the mode that the start artifact of the location's pipeline names, by default that of files. If the
// artifact was changed, the error is of kind tampered.
func (e *Effect) DeliveryMode() (plan.DeliveryMode, error) {
	ref, began := artifact.StartArtifact(e.Plan, e.State, e.Command.Location.Outer())
	if !began {
		return plan.DeliverFiles, nil
	}
	start, err := artifact.Load(e.Dir, ref)
	mode, _ := start.Data[plan.FieldDelivery].(string)
	return cmp.Or(plan.DeliveryMode(mode), plan.DeliverFiles), err
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

// AddInputPaths adds the paths of a node's stage, of its input artifact and of the start artifact of its pipeline. If one
// of these files was changed, the error is of kind tampered.
func (e *Effect) AddInputPaths(req *sdk.HookRequest, n *plan.Node) (err error) {
	if req.StageDir, err = e.StageDir(n); err != nil {
		return err
	}
	if in, has := artifact.FindInput(e.Plan, e.State, n, e.Command.Location); has {
		if req.InputArtifactFile, err = e.Dir.Verify(in.Ref); err != nil {
			return err
		}
	}
	if ref, began := artifact.StartArtifact(e.Plan, e.State, e.Command.Location.Outer()); began {
		req.StartArtifactFile, err = e.Dir.Verify(ref)
	}
	return err
}
