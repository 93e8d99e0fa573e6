package loop

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// stepTurns is how many replies a step may take where nobody says (REQUIREMENTS U164).
const stepTurns = 10

// loop is an attempt under way. It is used from one goroutine.
type loop struct {
	Work
	limit    int // of turns
	step     step
	finish   *finish
	tools    []model.Tool
	talk     talk
	known    map[string]sdk.ResumedCall // calls that the kernel knows from before a crash, by id
	streamed bool                       // text of the reply that is being asked for was shown
}

// begin makes the loop of an attempt, or of one that goes on.
func begin(w Work) (*loop, error) {
	l := &loop{Work: w, limit: w.MaxTurns, talk: fresh(), known: map[string]sdk.ResumedCall{}}
	if w.Request.StepID != "" {
		l.limit = stepTurns
	}
	if w.Request.MaxTurns > 0 {
		l.limit = w.Request.MaxTurns
	}
	_ = json.Unmarshal(w.Request.Step, &l.step) // an item of any form: what is not there demands nothing
	var err error
	l.tools = w.Tools.Definitions()
	if l.finish, err = newFinish(w.Request, handoverTool(w.Request, l.tools)); err != nil {
		return nil, err
	}
	if l.finish.tool != "" {
		l.tools = append(l.tools, l.finish.handoverDefinition(w.Request.ArtifactSchema))
	}
	l.tools = append(l.tools, l.finish.definition())
	if err := l.resume(); err != nil {
		return nil, err
	}
	return l, nil
}

// run goes from turn to turn until one ends the attempt.
func (l *loop) run(ctx context.Context) (sdk.ExecuteResult, error) {
	for {
		end, err := l.act(ctx)
		if err == nil && end != nil {
			return l.settle(*end)
		}
		if err == nil {
			err = l.mayAsk()
		}
		if err == nil {
			err = l.ask(ctx)
		}
		if err != nil {
			return failed(err)
		}
	}
}

// failed tells what the attempt as such came to (a result) from what cut it off (an error).
func failed(err error) (sdk.ExecuteResult, error) {
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

// mayAsk holds the next turn against the limits.
func (l *loop) mayAsk() error {
	if l.talk.Turn >= l.limit {
		if why := l.talk.forbidden(); why != nil {
			return why
		}
		return failure.New(failure.TurnLimit, "the agent used all its %d turns", l.limit).
			WithHint("split the work, raise steps.max_turns or max_turns of the provider, or choose a stronger model")
	}
	return l.afford()
}

// ask takes one reply of the model into the talk and saves it.
func (l *loop) ask(ctx context.Context) error {
	reply, err := l.reply(ctx, l.request())
	var service *model.Failure
	for errors.As(err, &service) && service.TooLong && l.talk.narrow() {
		reply, err = l.reply(ctx, l.request())
	}
	if err != nil {
		return err
	}
	if reply.Stop == model.StopRefused {
		return declined(reply)
	}
	l.take(reply)
	return l.save(ctx)
}

func (l *loop) request() model.Request {
	return model.Request{
		Model: l.Model, Effort: l.Effort, MaxTokens: l.roomFor(l.MaxTokens), System: l.systemPrompt(),
		Messages: l.talk.messages(l.Request.Prompt), Tools: l.tools,
	}
}

// reply asks the service, shows what it says, and counts it.
func (l *loop) reply(ctx context.Context, r model.Request) (model.Reply, error) {
	ctx, alive, stop := l.watch(ctx)
	defer stop()
	l.streamed = false
	told := func(err error, try int, wait time.Duration) {
		alive(wait)
		l.tellRetry(err, try, wait)
	}
	reply, err := model.Patient(l.Client, model.Retry{Tries: l.Retries, Told: told}).Reply(ctx, r, func(text string) {
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
	l.count(r, reply)
	return reply, nil
}

// watch is a context that ends when the service is silent for longer than it may be; alive says that it is not, and will
// be asked in a while at the earliest.
func (l *loop) watch(ctx context.Context) (watched context.Context, alive func(while time.Duration), stop func()) {
	if l.Idle <= 0 {
		return ctx, func(time.Duration) {}, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(l.Idle, func() {
		cancel(failure.New(failure.ProviderTimeout, "the model service said nothing for %s", l.Idle).
			WithHint("raise policy.idle_timeout, or see what the service is doing"))
	})
	return ctx, func(while time.Duration) { timer.Reset(l.Idle + while) }, func() { timer.Stop(); cancel(nil) }
}

func (l *loop) tellRetry(err error, try int, wait time.Duration) {
	if l.streamed {
		l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "\n[this reply was cut off and is asked for again]\n\n"})
		l.streamed = false
	}
	l.progress(retryText(err, try, l.Retries, wait), "")
}

func (l *loop) progress(message, tool string) {
	l.Exchange.Progress(sdk.Progress{Message: message, Turn: l.talk.Turn, Tool: tool})
}

// declined is the failure of a model that does not want to.
func declined(reply model.Reply) error {
	err := failure.New(failure.ProviderFailed, "the model, or a filter of its service, declined: %s", short(reply.Text, 300))
	err.Retryable = false
	return err.WithHint("reword the prompt, or choose another model")
}
