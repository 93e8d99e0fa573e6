package attempt

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Providers finds providers by name; the error says what exists.
type Providers interface {
	Provider(ctx context.Context, name string) (sdk.Provider, error)
}

// Job is one attempt to be made.
type Job struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
	// Record commits an event that happens during the attempt; it returns when the event is durable.
	Record func(ctx context.Context, e event.Event) error
	// Ask puts a question to a person and waits for the answer.
	Ask func(ctx context.Context, asked event.Event) (event.QuestionAnsweredData, error)
}

// Maker makes the attempts of one run. All fields but those with a default, Live, Ready, Spared, Began and Contested are needed. It is safe for concurrent use.
type Runner struct {
	Plan      *plan.Plan
	Project   *store.Project
	Dir       *store.Dir
	Inputs    *inputs.Reader // of the session
	Providers Providers
	Log       hclog.Logger
	// Redactor takes the secrets out of what is written down and shown: of the agent's own texts at the strength
	// for agents. Default: one that knows no values.
	Redactor *redact.Redactor
	// Spared reports whether an error means that the attempt fell with another call's process.
	Uncharged func(error) bool
	// Live is called with what the agent reports, for views; it has to return soon.
	Live func(Report)
	// Ready is called before an agent is, and returns when what it may look at is there.
	Ready func()
	// Finds are the secrets that were told of in the run. Default: each attempt tells of all that it finds.
	Finds *SecretDedup
	// Accepted sees to what attempts that followed one that was given up came to. Default: nobody does.
	Accepted *PublishedFiles
	// Began is when the session was taken: what attempts of earlier kernels wrote after it is late.
	Began time.Time
	// Contested: an older kernel may still be at work on the session, so that even first attempts get paths of their own.
	Contested bool
}

// Report is what an agent reported last, for live views.
type Report struct {
	Node      string         // the node's id
	At        event.Location // where in the run, with the node's path and the step
	Branch    string         // the provider of a parallel block, "" outside
	Iteration int
	Attempt   int
	Progress  sdk.Progress
	Usage     *sdk.Usage
	Text      string // output as it comes
}

// Make makes the attempt that the job's command asks for and returns the event that ends it, with the command's key:
// iteration_complete, attempt_complete where the node has a contract by which the outcome is still to be settled, or
// error.
func (m *Runner) Run(ctx context.Context, j Job) event.Event {
	a := &attempt{Runner: m, command: j.Command, node: j.Node, state: j.State, record: j.Record, ask: j.Ask, started: time.Now()}
	a.log = m.Log.With("session", j.State.Session, "stage", j.Node.ID, "iteration", j.Command.Location.Iteration, "attempt", j.Command.Attempt)
	done, err := a.make(ctx)
	a.keeping.Wait()
	if err != nil {
		return a.failed(ctx, err)
	}
	return done
}

type attempt struct {
	*Runner
	command schedule.Command
	node    *plan.Node
	state   state.State
	record  func(context.Context, event.Event) error
	ask     func(context.Context, event.Event) (event.QuestionAnsweredData, error)
	started time.Time
	log     hclog.Logger

	declared  fs.FileInfo // of the node's output_path before the attempt
	progress  string      // the progress file, relative to the session
	dir       store.Node
	iteration store.Iteration
	reports   store.Iteration // where the agent leaves what it came to
	before    *superseded     // the attempt that this one is made in the place of, nil for none
	changed   event.AttemptSupersededData
	watching  []watched
	context   inputs.Context // as it is in context.json
	exchange  *exchange
	result    sdk.ExecuteResult
	words     map[string]words // of the agent, by file

	keeping sync.WaitGroup // of the output, until it is durable
	notKept error          // why it is not; read when keeping is over
}

// make reads like its specification: prepare, execute, take what the agent left.
func (a *attempt) make(ctx context.Context) (event.Event, error) {
	req, err := a.prepare(ctx)
	if err != nil {
		return event.Event{}, err
	}
	if err := a.recordStart(); err != nil {
		return event.Event{}, err
	}
	failpoint.Point("attempt.prepared")
	if a.Ready != nil {
		a.Ready()
	}
	execErr := a.execute(ctx, req)
	failpoint.Point("attempt.executed")
	a.refuseLate()
	defer a.scan(ctx, a.written()) // the result names files, and is replaced by our own form of it
	output, err := a.keepOutput(execErr != nil)
	if err := errors.Join(execErr, err); err != nil {
		return event.Event{}, err
	}
	if err := a.keepHandedOver(); err != nil {
		return event.Event{}, err
	}
	return a.settle(ctx, output)
}

// execute calls the provider under the attempt's deadline. Whatever it returns beside an error is
// kept: usage and output of a failed attempt count too.
func (a *attempt) execute(ctx context.Context, req sdk.ExecuteRequest) error {
	provider, err := a.Providers.Provider(ctx, a.node.Provider.Type)
	if err != nil {
		return err
	}
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = pluginhost.WithCallTimeout(ctx, req.Timeout, timedOut(req.Timeout))
		defer cancel()
		if a.mayAsk(provider) { // its own time would run on while a person thinks
			req.Timeout = 0
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.exchange = newExchange(ctx, cancel, a, req.Paths)
	x := &closing{exchange: a.exchange, given: ctx}
	defer x.close()
	a.result, err = provider.Execute(ctx, req, x)
	if ctx.Err() != nil {
		x.lateResult(a.result, err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause // whatever the provider made of it, this is why
	}
	if err != nil {
		return classified(err)
	}
	return outcomeError(a.result)
}

// classified makes provider_failed of an error that says nothing of its kind.
func classified(err error) error {
	var f *failure.Error
	if errors.As(err, &f) {
		return err
	}
	return failure.New(failure.ProviderFailed, "%w", err)
}

func timedOut(limit time.Duration) error {
	e := failure.New(failure.IterationTimeout, "the attempt did not end within %s", limit)
	e.Retryable = true
	return e.WithHint("policy.timeout of the node, or policy.stage_timeout of the pipeline, sets the limit in seconds")
}

// outcomeError turns an outcome that is no success into an error. An empty outcome is left to the
// result: an agent that wrote its result and said nothing has done its work.
func outcomeError(r sdk.ExecuteResult) error {
	switch r.Outcome {
	case "", sdk.OutcomeSucceeded, sdk.OutcomeEmpty:
		return nil
	}
	if r.Error != nil {
		return r.Error
	}
	e := failure.New(failure.ProviderFailed, "the agent ended as %s (exit code %d)", r.Outcome, r.ExitCode)
	e.Retryable = r.Outcome != sdk.OutcomePermissionDenied && r.Outcome != sdk.OutcomeNeedsPerson
	return e
}
