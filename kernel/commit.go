package kernel

import (
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// record implements EffectRequest.Record. It passes the event to the loop, because only the loop commits and applies
// events.
func (r *runner) record(ctx context.Context, e event.Event) error {
	q := recordRequest{e, make(chan error, 1)}
	select {
	case r.records <- q:
		return <-q.reply
	case <-r.closed:
		return failure.New(failure.SignalInterrupt, "the run has ended")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// commitRecord commits an event of an effect and replies with the result. An event that does not fit the state or a
// journal line is refused. A failure of the journal also ends the run.
func (r *runner) commitRecord(ctx context.Context, q recordRequest) error {
	if _, invalid := progress.Apply(r.cfg.Plan, r.st, q.event); invalid != nil {
		q.reply <- invalid
		return nil //nolint:nilerr // the effect gets the error, and the run continues
	}
	err := r.commit(ctx, q.event)
	q.reply <- err
	if errors.Is(err, event.ErrTooLong) {
		return nil
	}
	return err
}

// commitControl commits a control event; open is false if the channel is closed. An event that does not fit the state,
// such as a repeated message, goes to OnRefused instead.
func (r *runner) commitControl(ctx context.Context, e event.Event, open bool) error {
	if !open {
		r.cfg.Control = nil
		return nil
	}
	if _, err := progress.Apply(r.cfg.Plan, r.st, e); errors.Is(err, progress.ErrInvalidTransition) {
		if r.cfg.OnRefused != nil {
			r.cfg.OnRefused(e, err)
		}
		return nil
	}
	return r.commit(ctx, e)
}

// finishEffect commits the end of an effect. An end that the state does not wait for is recorded as a late delivery
// and changes nothing.
func (r *runner) finishEffect(ctx context.Context, done effectResult) error {
	r.inFlight[done.key](nil)
	delete(r.inFlight, done.key)
	e := done.event
	failpoint.Point("run.effect-ended")
	if err := r.pauseOnSystemFailure(ctx, e); err != nil {
		return err
	}
	if _, err := progress.Apply(r.cfg.Plan, r.st, e); err != nil {
		e = lateDelivery(e, event.LateDeliveryData{Kind: event.LateEnd, Attempt: e.Attempt, Type: e.Type, Data: e.Data})
	}
	err := r.commit(ctx, e)
	if errors.Is(err, event.ErrTooLong) {
		err = r.commit(ctx, oversizeReplacement(e, err))
	}
	return err
}

// pauseOnSystemFailure pauses a run whose effect ended because the machine ran out of resources or a recorded file was
// changed. Further work would fail, too. The effect is repeated after the resume.
func (r *runner) pauseOnSystemFailure(ctx context.Context, e event.Event) error {
	d := event.SystemFailure(e)
	if d == nil || r.st.Stop != nil || r.st.Status != state.Running {
		return nil
	}
	kind := state.PauseError
	if d.ErrorType == string(failure.Tampered) {
		kind = state.PauseTampered
	}
	return r.commit(ctx, event.New(event.Control, nil, "", event.ControlData{
		Action: "pause", Kind: string(kind), Reason: fmt.Sprintf("%s; %s (%s)", d.Message, d.Remedy, d.ErrorType),
	}))
}

// commit appends the event to the journal and applies it.
func (r *runner) commit(ctx context.Context, e event.Event) error {
	stamped, err := r.cfg.Journal.Append(context.WithoutCancel(ctx), e)
	if err != nil {
		return err
	}
	for _, e := range stamped {
		next, err := progress.Apply(r.cfg.Plan, r.st, e)
		if err != nil {
			return failure.New(failure.Internal, "apply committed event: %w", err)
		}
		r.st = next
		r.deadlines.set(next.Timers, e.Time)
		r.answers.deliver(e)
		if r.cfg.OnEvent != nil {
			r.cfg.OnEvent(e, next)
		}
	}
	return nil
}

// ask implements EffectRequest.Ask.
func (r *runner) ask(ctx context.Context, asked event.Event) (event.QuestionAnsweredData, error) {
	d, err := event.Decode[event.QuestionAskedData](asked)
	if err != nil {
		return event.QuestionAnsweredData{}, err
	}
	answer, fresh := r.answers.await(d.ID)
	if !fresh {
		return event.QuestionAnsweredData{}, failure.New(failure.PluginInvalid, "question %s is already open: the provider asked twice about the same call", d.ID)
	}
	defer r.answers.remove(d.ID)
	if err := r.record(ctx, asked); err != nil {
		return event.QuestionAnsweredData{}, err
	}
	due, stop := dueTime(d)
	defer stop()
	for {
		select {
		case a := <-answer:
			return a, nil
		case <-due:
			r.expire(ctx, d)
			due = nil
		case <-r.closed:
			return event.QuestionAnsweredData{}, failure.New(failure.SignalInterrupt, "the run has ended")
		case <-ctx.Done():
			return event.QuestionAnsweredData{}, context.Cause(ctx)
		}
	}
}

// expire rejects a question whose deadline has passed. The rejection is refused if an answer was committed before.
// Any other error means that the effect or the run is ending.
func (r *runner) expire(ctx context.Context, d event.QuestionAskedData) {
	_ = r.record(ctx, event.New(event.QuestionAnswered, nil, "", event.QuestionAnsweredData{
		ID: d.ID, Answer: event.AnswerReject, Digest: d.Digest, Expired: true,
	}))
}
