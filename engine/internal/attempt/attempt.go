package attempt

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attemptdir"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Bounds of texts and lists of an agent.
const (
	maxScanned      = 200      // files that are scanned for secrets
	maxFeedback     = 64 << 10 // bytes of the feedback of a step's agent
	maxStderrDetail = 2000     // bytes of the end of stderr in a failure
)

// Runner performs the attempts of one run. All fields but Live are required. It is safe for concurrent use.
type Runner struct {
	*effect.Env
	attemptdir.Attempts
	Providers effect.Providers
	// Live receives the agent's reports for views. It must return soon.
	Live func(exchange.Report)
	// Ready runs before the agent starts. It returns when the files that the agent may read exist.
	Ready func()

	secrets redaction.SecretDedup // secrets reported in the run
}

// Restore restores the published files that abandoned agents have overwritten, see [attemptdir.Attempts].
func (m *Runner) Restore(ctx context.Context, record func(context.Context, event.Event) error) {
	m.Attempts.Restore(ctx, m.Env, record)
}

// Run performs the attempt of the request's command and returns the event that ends it, with the command's key:
// iteration_complete, attempt_complete if the node's contract still has to be evaluated, or error.
func (m *Runner) Run(ctx context.Context, r kernel.EffectRequest) event.Event {
	a := &attempt{runner: m, started: time.Now()}
	a.Effect = m.New("attempt", r, "stage", r.Node.ID, "iteration", r.Command.Location.Iteration, "attempt", r.Command.Attempt)
	done, err := a.run(ctx)
	a.outputWrite.Wait()
	if err != nil {
		return a.failureEvent(ctx, err)
	}
	return done
}

type attempt struct {
	*effect.Effect
	runner  *Runner
	started time.Time

	files        *attemptdir.Files
	declaredInfo fs.FileInfo // of the node's output_path before the attempt, nil for none
	progress     string      // the progress file, relative to the session
	exchange     *exchange.Exchange
	result       sdk.ExecuteResult

	outputWrite sync.WaitGroup // writes the output and the directory entry
	outputErr   error          // read it after outputWrite.Wait
}

// run prepares the request, executes it and reads the agent's files.
func (a *attempt) run(ctx context.Context) (event.Event, error) {
	req, err := a.prepare(ctx)
	if err != nil {
		return event.Event{}, err
	}
	if err := a.files.RecordStart(); err != nil {
		return event.Event{}, err
	}
	failpoint.Point("attempt.prepared")
	a.runner.Ready()
	execErr := a.execute(ctx, req)
	failpoint.Point("attempt.executed")
	a.files.RefuseLate()
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
	provider, err := a.runner.Providers.Provider(ctx, a.Node.Provider.Type, a.Node, filepath.Dir(req.Paths.Result), req.Paths.Attempt, req.Paths.Progress, req.Paths.Output)
	if err != nil {
		return err
	}
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = pluginhost.WithCallTimeout(ctx, req.Timeout, timeoutError(req.Timeout))
		defer cancel()
		if exchange.MayAskUser(a.Effect, provider) { // the deadline pauses for the user, the provider's timeout would not
			req.Timeout = 0
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.exchange = exchange.New(ctx, cancel, a.Effect, a.files.Private(), req.Paths, a.runner.Live)
	a.result, err = provider.Execute(ctx, req, a.exchange)
	a.exchange.Close(a.result, err)
	if cause := context.Cause(ctx); cause != nil {
		return cause // the cause, not the provider's error
	}
	if err != nil {
		return classify(err)
	}
	return outcomeError(a.result)
}

// classify returns an error of kind provider_failed for an error without a kind, and any other error unchanged.
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

// outcomeError returns the error for an unsuccessful outcome. The outcome empty is not an error, because an agent may
// write its result and print nothing.
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
