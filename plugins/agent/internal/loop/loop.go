package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// stepTurns is the default limit of replies in a step (REQUIREMENTS U164).
const stepTurns = 10

// loop is a running attempt. It is used from one goroutine.
type loop struct {
	Attempt
	limit        int // of turns
	step         step
	finish       *finish
	tools        []model.Tool
	conversation conversation
	resumedCalls map[string]sdk.ResumedCall // the kernel's records of calls before a crash, by id
	streamed     bool                       // text of the current reply was shown
}

// newLoop returns the loop of an attempt, resumed from a checkpoint if the request has one.
func newLoop(a Attempt) (*loop, error) {
	l := &loop{Attempt: a, limit: a.MaxTurns, conversation: newConversation(), resumedCalls: map[string]sdk.ResumedCall{}}
	if a.Request.StepID != "" {
		l.limit = stepTurns
	}
	if a.Request.MaxTurns > 0 {
		l.limit = a.Request.MaxTurns
	}
	_ = json.Unmarshal(a.Request.Step, &l.step) // an item of another form is valid; a missing field requires nothing
	var err error
	l.tools = a.Tools.Definitions()
	if l.finish, err = newFinish(a.Request, handoverTool(a.Request, l.tools)); err != nil {
		return nil, err
	}
	if l.finish.handover != "" {
		l.tools = append(l.tools, l.finish.handoverDefinition(a.Request.ArtifactSchema))
	}
	l.tools = append(l.tools, l.finish.definition())
	if err := l.resume(); err != nil {
		return nil, err
	}
	return l, nil
}

// run makes turns until a turn ends the attempt.
func (l *loop) run(ctx context.Context) (sdk.ExecuteResult, error) {
	for {
		end, err := l.act(ctx)
		if err == nil && end != nil {
			return l.finishAttempt(*end)
		}
		if err == nil {
			err = l.checkLimits()
		}
		if err == nil {
			err = l.ask(ctx)
		}
		if err != nil {
			return failureResult(err)
		}
	}
}

// finishAttempt ends the attempt with a claim. It writes the artifact (of the claim, or handed over before) and the
// result, and shows the claim.
func (l *loop) finishAttempt(c claim) (sdk.ExecuteResult, error) {
	if c.Outcome == outcomeFail {
		if why := l.conversation.refusalFailure(); why != nil {
			return failureResult(why.WithDetail(c.Summary))
		}
	}
	paths, artifact := l.Request.Paths, c.Artifact
	if len(artifact) == 0 {
		artifact = l.conversation.Artifact
	}
	if paths.Artifact != "" && len(artifact) > 0 && c.Outcome == outcomeSuccess {
		if err := os.WriteFile(paths.Artifact, append(slices.Clone(artifact), '\n'), 0o644); err != nil {
			return failureResult(failure.New(failure.ResultMissing, "write the artifact: %w", err))
		}
	}
	if paths.Result != "" {
		if err := c.writeResult(paths, l.conversation.ChangedFiles, l.Request.Contract); err != nil {
			return failureResult(err)
		}
	}
	if last := l.conversation.lastTurn(); last == nil || len(last.Reply.Calls) > 0 { // a text reply was streamed already
		l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: c.text()})
	}
	return sdk.ExecuteResult{Outcome: sdk.OutcomeSucceeded}, nil
}

// failureResult converts an error: a failure of the attempt itself becomes a result, an interruption stays an error.
func failureResult(err error) (sdk.ExecuteResult, error) {
	var service *model.Failure
	var ours *failure.Error
	switch {
	case errors.As(err, &service):
		return sdk.ExecuteResult{Outcome: service.Outcome, Error: service.Err}, nil
	case errors.Is(err, context.Canceled), !errors.As(err, &ours), ours.Kind == failure.ProviderTimeout:
		return sdk.ExecuteResult{Outcome: sdk.OutcomeInfrastructure}, err
	default:
		return sdk.ExecuteResult{Outcome: sdk.OutcomeFailed, Error: ours}, nil
	}
}

// checkLimits returns a failure if the next turn would exceed a limit.
func (l *loop) checkLimits() error {
	spent := l.conversation.Turn >= l.limit
	repeated, period := l.conversation.repetitions()
	same := l.IdenticalTurns > 0 && repeated >= l.IdenticalTurns
	if why := l.conversation.refusalFailure(); why != nil && (spent || same) {
		return why
	}
	switch {
	case spent:
		return failure.New(failure.TurnLimit, "the agent used all its %d turns", l.limit).
			WithHint("split the work, raise steps.max_turns or max_turns of the provider, or choose a stronger model")
	case same && period > 1:
		return failure.New(failure.TurnLimit, "the agent repeated the same %d turns %d times in a row, with the same results", period, l.IdenticalTurns).
			WithHint("see calls.jsonl; change the task, choose a stronger model, or raise identical_turns of the provider")
	case same:
		return failure.New(failure.TurnLimit, "the agent made the same call of %s %d times in a row, with the same result", l.conversation.lastTurn().Reply.Calls[0].Name, l.IdenticalTurns).
			WithHint("see calls.jsonl; change the task, choose a stronger model, or raise identical_turns of the provider")
	}
	return l.checkBudget(&l.conversation, estimateTokens(l.baseRequest()))
}

// ask adds one reply of the model to the conversation and saves it.
func (l *loop) ask(ctx context.Context) error {
	reply, err := l.requestReply(ctx, l.request())
	var service *model.Failure
	for errors.As(err, &service) && service.TooLong && l.conversation.narrow() {
		reply, err = l.requestReply(ctx, l.request())
	}
	if err != nil {
		return err
	}
	if reply.Stop == model.StopRefused {
		return refusalError(reply)
	}
	l.addReply(reply)
	return l.save(ctx)
}

func (l *loop) request() model.Request {
	r := l.baseRequest()
	r.Model, r.Effort, r.MaxTokens = l.Model, l.Effort, l.replyLimit(l.conversation.spentTokens()+estimateTokens(r))
	return r
}

// requestReply requests a reply, shows its text, and counts its usage.
func (l *loop) requestReply(ctx context.Context, r model.Request) (model.Reply, error) {
	ctx, alive, stop := watchSilence(ctx, l.IdleTimeout)
	defer stop()
	l.streamed = false
	onRetry := func(err error, try int, wait time.Duration) {
		alive(wait)
		l.reportRetry(err, try, wait)
	}
	reply, err := model.Retry{Tries: l.Retries, OnRetry: onRetry}.Reply(ctx, l.Client, r, func(text string) {
		alive(0)
		if text != "" {
			l.streamed = true
			l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: text})
		}
	})
	if err != nil {
		return reply, err
	}
	if l.streamed {
		l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "\n\n"})
	}
	l.countUsage(r, reply)
	return reply, nil
}

// watchSilence returns a context that ends when the service is silent for longer than limit; 0 is no limit. A call of
// alive restarts the time, which while extends once.
func watchSilence(ctx context.Context, limit time.Duration) (watched context.Context, alive func(while time.Duration), stop func()) {
	if limit <= 0 {
		return ctx, func(time.Duration) {}, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() {
		cancel(failure.New(failure.ProviderTimeout, "the model service was silent for %s", limit).
			WithHint("raise policy.idle_timeout, or check the state of the service"))
	})
	return ctx, func(while time.Duration) { timer.Reset(limit + while) }, func() { timer.Stop(); cancel(nil) }
}

func (l *loop) reportRetry(err error, try int, wait time.Duration) {
	if l.streamed {
		l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "\n[this reply was interrupted and is requested again]\n\n"})
		l.streamed = false
	}
	l.progress(fmt.Sprintf("Retry %d/%d in %s: %s", try, l.Retries, wait.Round(time.Millisecond), truncate(err.Error(), 200)), "")
}

func (l *loop) progress(message, tool string) {
	l.Exchange.Progress(sdk.Progress{Message: message, Turn: l.conversation.Turn, Tool: tool})
}

// refusalError returns the failure for a model that refuses the task.
func refusalError(reply model.Reply) error {
	err := failure.New(failure.ProviderFailed, "the model or a filter of its service refused: %s", truncate(reply.Text, 300))
	err.Retryable = false
	return err.WithHint("reword the prompt, or choose another model")
}

// Run works until the attempt is over. The result is filled as far as possible even with an error. The error is the
// cause of an ended context, a fault of the request or its checkpoint, or an error of the exchange.
func Run(ctx context.Context, a Attempt) (sdk.ExecuteResult, error) {
	start := time.Now()
	l, err := newLoop(a)
	if err != nil {
		return sdk.ExecuteResult{Outcome: sdk.OutcomeFailed}, err
	}
	result, err := l.run(ctx)
	result.Duration = time.Since(start)
	result.Model = l.conversation.Model
	result.Usage = l.usage()
	return result, err
}

// Answer sends the request's prompt to the model and returns its one reply, without tools.
func Answer(ctx context.Context, a Attempt) (sdk.ExecuteResult, error) {
	start := time.Now()
	l := &loop{Attempt: a, conversation: newConversation()}
	reply, err := l.requestReply(ctx, model.Request{
		Model: a.Model, Effort: a.Effort, MaxTokens: a.MaxTokens, System: a.System,
		Messages: []model.Message{{Role: model.User, Text: a.Request.Prompt}},
	})
	result := sdk.ExecuteResult{Output: reply.Text, Outcome: sdk.OutcomeSucceeded}
	if err != nil {
		result, err = failureResult(err)
	} else if reply.Stop == model.StopRefused {
		result, err = failureResult(refusalError(reply))
	}
	result.Duration, result.Model = time.Since(start), l.conversation.Model
	result.Usage = l.usage()
	return result, err
}
