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

// Providers finds providers by name. Its error lists the providers that exist.
type Providers interface {
	Provider(ctx context.Context, name string) (sdk.Provider, error)
}

// Job is one attempt to perform.
type Job struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
	// Record commits an event of the attempt. It returns when the event is durable.
	Record func(ctx context.Context, e event.Event) error
	// Ask puts a question to the user and waits for the answer.
	Ask func(ctx context.Context, asked event.Event) (event.QuestionAnsweredData, error)
}

// Runner performs the attempts of one run. Plan, Project, Dir, Inputs, Providers and Log are required. It is safe for
// concurrent use.
type Runner struct {
	Plan      *plan.Plan
	Project   *store.Project
	Dir       *store.Dir
	Inputs    *inputs.Reader // of the session
	Providers Providers
	Log       hclog.Logger
	// Redactor removes secrets from written and displayed texts. The agent's own texts use its setting for agents.
	// Default: a redactor without values.
	Redactor *redact.Redactor
	// Uncharged reports whether an error means that the process of another call took this attempt down.
	Uncharged func(error) bool
	// Live receives the agent's reports for views. It must return soon.
	Live func(Report)
	// Ready runs before the agent starts. It returns when the files that the agent may read are there.
	Ready func()
	// Secrets holds the secrets already reported in the run. Default: each attempt reports all its secrets.
	Secrets *SecretDedup
	// Published guards the published files of a retry against the abandoned attempt. Optional.
	Published *PublishedFiles
	// OpenedAt is the time when this kernel opened the session. Files that earlier attempts write after it are late.
	OpenedAt time.Time
	// PossiblyFenced says that an older kernel may still run the session. Then first attempts get private directories,
	// too.
	PossiblyFenced bool
}

// Report is the latest report of an agent, for live views.
type Report struct {
	Node      string         // the node's id
	At        event.Location // with the node's path and the step
	Branch    string         // the provider of a parallel block, "" outside
	Iteration int
	Attempt   int
	Progress  sdk.Progress
	Usage     *sdk.Usage
	Text      string // output as it comes
}

// Run performs the attempt of the job's command and returns the event that ends it, with the command's key:
// iteration_complete, attempt_complete if the node's contract still has to be evaluated, or error.
func (m *Runner) Run(ctx context.Context, j Job) event.Event {
	a := &attempt{Runner: m, command: j.Command, node: j.Node, state: j.State, record: j.Record, ask: j.Ask, started: time.Now()}
	a.log = m.Log.With("session", j.State.Session, "stage", j.Node.ID, "iteration", j.Command.Location.Iteration, "attempt", j.Command.Attempt)
	done, err := a.run(ctx)
	a.outputWrite.Wait()
	if err != nil {
		return a.failureEvent(ctx, err)
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

	declaredInfo     fs.FileInfo // of the node's output_path before the attempt, nil for none
	progress         string      // the progress file, relative to the session
	dir              store.Node
	iteration        store.Iteration
	outputDir        store.Iteration  // the agent's result files
	previousTry      *previousAttempt // the attempt that this one retries, nil for the first
	workspaceChanges event.AttemptSupersededData
	watchedFiles     []watchedFile
	context          inputs.Context // the content of context.json
	exchange         *exchange
	result           sdk.ExecuteResult
	agentFiles       map[string]agentFile // the agent's files, by name

	outputWrite sync.WaitGroup // writes the output and the directory entry
	outputErr   error          // read it after outputWrite.Wait
}

// run prepares the request, executes it and reads the agent's files.
func (a *attempt) run(ctx context.Context) (event.Event, error) {
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
	a.refuseLateFiles()
	defer a.scanForSecrets(ctx, a.writtenFiles()) // before complete replaces the result, which names files
	output, err := a.writeOutput(execErr != nil)
	if err := errors.Join(execErr, err); err != nil {
		return event.Event{}, err
	}
	if err := a.writeArtifactCall(); err != nil {
		return event.Event{}, err
	}
	return a.complete(ctx, output)
}

// execute calls the provider under the attempt's deadline. It keeps a result that comes with an error: usage and
// output of a failed attempt count, too.
func (a *attempt) execute(ctx context.Context, req sdk.ExecuteRequest) error {
	provider, err := a.Providers.Provider(ctx, a.node.Provider.Type)
	if err != nil {
		return err
	}
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = pluginhost.WithCallTimeout(ctx, req.Timeout, timeoutError(req.Timeout))
		defer cancel()
		if a.mayAskUser(provider) { // the deadline pauses for the user, the provider's timeout would not
			req.Timeout = 0
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.exchange = newExchange(ctx, cancel, a, req.Paths)
	x := &lateFilter{exchange: a.exchange, attemptCtx: ctx}
	defer x.close()
	a.result, err = provider.Execute(ctx, req, x)
	if ctx.Err() != nil {
		x.countLateResult(a.result, err)
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause // the cause, not the provider's error
	}
	if err != nil {
		return classify(err)
	}
	return outcomeError(a.result)
}

// classify returns provider_failed for an error without a kind.
func classify(err error) error {
	var f *failure.Error
	if errors.As(err, &f) {
		return err
	}
	return failure.New(failure.ProviderFailed, "%w", err)
}

func timeoutError(limit time.Duration) error {
	e := failure.New(failure.IterationTimeout, "the attempt did not end within %s", limit)
	e.Retryable = true
	return e.WithHint("policy.timeout of the node, or policy.stage_timeout of the pipeline, sets the limit in seconds")
}

// outcomeError returns the error for an unsuccessful outcome. An empty outcome is judged by its result: an agent may
// write the result and print nothing.
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
