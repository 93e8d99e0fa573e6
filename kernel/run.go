package kernel

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// SignalGrace is the default time that the effects in flight have to end after the first signal (REQUIREMENTS U102).
const SignalGrace = 30 * time.Second

// Journal commits events in order. Append returns them with sequence, time, run and epoch set, once the events that
// change state are durable. It is safe for concurrent use.
type Journal interface {
	Append(ctx context.Context, events ...event.Event) ([]event.Event, error)
}

// Effects performs commands. Each method returns the event that ends the effect, with the command's key. A method
// returns soon after ctx is cancelled. The event then has the kind of the cancellation's cause, which is or unwraps to
// a [failure.Error].
type Effects interface {
	Attempt(ctx context.Context, w EffectRequest) event.Event  // iteration_complete or error
	Strategy(ctx context.Context, w EffectRequest) event.Event // decision
	Question(ctx context.Context, w EffectRequest) event.Event // strategy_answer
	// Hook calls a hook and returns hook_complete, hook_timeout, hook_skipped, or question_asked. It commits
	// hook_start itself once the hook's condition is true.
	Hook(ctx context.Context, w EffectRequest) event.Event
	// Check runs a check of the node and returns check_result, with a failure if the check cannot be measured.
	Check(ctx context.Context, w EffectRequest) event.Event
	// SettleIteration validates the artifact of the iteration, adds measured values and settles the outcome. It
	// returns iteration_complete, or error for an artifact that violates the contract.
	SettleIteration(ctx context.Context, w EffectRequest) event.Event
	// Inspect inspects the input artifact of a node and returns input_checked.
	Inspect(ctx context.Context, w EffectRequest) event.Event
	// PlanSteps reads the steps of a node from their artifact and returns steps_planned.
	PlanSteps(ctx context.Context, w EffectRequest) event.Event
	// Manifest writes a block's manifest and returns artifact_written. It must be fast, because the loop waits for
	// it; an error ends the run, as a failed journal does.
	Manifest(w EffectRequest) (event.Event, error)
}

// EffectRequest is a command with its node and the state in which it was issued. In a parallel block the node has the
// provider's settings.
type EffectRequest struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
	// Record commits an event that happens during the effect. It returns when the event is accepted by the journal
	// and applied, or an error if the run no longer waits for the effect.
	Record func(ctx context.Context, e event.Event) error
	// Ask asks the user a question, with its question_asked event, and waits for the answer. It fails when ctx or the
	// run ends first.
	Ask func(ctx context.Context, asked event.Event) (event.QuestionAnsweredData, error)
}

// Config is the configuration of a run. Plan, Journal and Effects are required.
type Config struct {
	Plan    *plan.Plan
	Journal Journal
	Effects Effects
	// OnEvent is called with every applied event and the state after it, in order, from one goroutine.
	OnEvent func(event.Event, state.State)
	// Control delivers events from outside: control events (pause, abort) and answers to questions. Nil: none.
	Control <-chan event.Event
	// OnRefused is called with a control event that does not fit the state, and the reason. The event changes nothing.
	OnRefused func(event.Event, error)
	// Grace replaces [SignalGrace] when it is not zero.
	Grace time.Duration
}

// Run drives the session from st until it has ended or paused and nothing is in flight, and returns the last state.
// Cancelling ctx cancels everything in flight and pauses the session, which can be resumed. An error means that the
// journal or a manifest could not be written, or an internal fault. After an error, only
// the journal is sure to have the session's state.
func Run(ctx context.Context, cfg Config, st state.State) (state.State, error) {
	cfg.Grace = cmp.Or(cfg.Grace, SignalGrace)
	r := &runner{cfg: cfg, st: st, deadlines: deadlines{}, inFlight: map[event.Key]context.CancelCauseFunc{}, done: make(chan effectResult), records: make(chan recordRequest), closed: make(chan struct{})}
	r.deadlines.set(st.Timers, startTime(st))
	err := r.loop(ctx)
	r.cancelAll(failure.New(failure.SignalInterrupt, "the run has ended"))
	close(r.closed)
	r.effects.Wait()
	return r.st, err
}

type runner struct {
	cfg       Config
	st        state.State
	inFlight  map[event.Key]context.CancelCauseFunc // effects in flight
	done      chan effectResult
	records   chan recordRequest // events during effects
	closed    chan struct{}      // closed when the loop no longer receives from done and records
	effects   sync.WaitGroup
	answers   answerWaiters
	deadlines deadlines
	grace     <-chan time.Time // fires when the grace after a signal is over
}

// effectResult is the event that ended an effect.
type effectResult struct {
	key   event.Key // of the command
	event event.Event
}

// recordRequest is a request of an effect to commit an event.
type recordRequest struct {
	event event.Event
	reply chan error // buffered
}

func (r *runner) loop(ctx context.Context) error {
	for {
		if err := r.pollControl(ctx); err != nil {
			return err
		}
		moved, err := r.performDue(ctx)
		if err != nil {
			return err
		}
		if moved {
			continue
		}
		if len(r.inFlight) == 0 && r.st.Status != state.Running {
			return nil
		}
		if err := r.wait(ctx); err != nil {
			return err
		}
	}
}

// pollControl handles pending control events before new work starts, because an iteration may take hours.
func (r *runner) pollControl(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return r.requestPause(ctx)
		case e, open := <-r.cfg.Control:
			if err := r.commitControl(ctx, e, open); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// performDue performs the first due command that is not in flight and reports whether there was one. The command's
// event changes the state, so the scheduler must be asked again.
func (r *runner) performDue(ctx context.Context) (bool, error) {
	for _, c := range schedule.Decide(r.cfg.Plan, r.st) {
		cancel, busy := r.inFlight[c.Key]
		switch {
		case c.Kind == schedule.Cancel && busy:
			cancel(cancelCause(c))
		case c.Kind == schedule.Cancel || busy && c.Key != "":
		case r.st.Stop != nil && len(r.inFlight) > 0: // an effect in flight that the state does not show, such as a strategy
			if r.st.Stop.Action == "abort" {
				r.cancelAll(abortError())
			}
			return false, nil
		default:
			return true, r.perform(ctx, c)
		}
	}
	return false, nil
}

// cancelCause returns the reason of a cancel command.
func cancelCause(c schedule.Command) error {
	if c.Cause == nil {
		return abortError()
	}
	return &schedule.GuardrailError{Failure: c.Cause}
}

func abortError() error { return failure.New(failure.Aborted, "the run was aborted") }

func (r *runner) perform(ctx context.Context, c schedule.Command) error {
	if c.Event != nil {
		if err := r.commit(ctx, *c.Event); err != nil {
			return err
		}
	}
	failpoint.Point("run.committed." + string(c.Kind))
	w := EffectRequest{Command: c, Node: progress.StageAt(r.cfg.Plan, r.st, c.Location), State: r.st, Record: r.record, Ask: r.ask}
	switch c.Kind {
	case schedule.Record:
		return nil
	case schedule.WriteManifest:
		return r.writeManifest(ctx, w)
	}
	effect, known := performers[c.Kind]
	if !known {
		return fmt.Errorf("perform %s: unknown effect", c.Kind)
	}
	r.start(ctx, w, effect)
	return nil
}

// performers are the methods for commands whose effect runs in a goroutine.
var performers = map[schedule.Kind]func(Effects, context.Context, EffectRequest) event.Event{
	schedule.Attempt:   Effects.Attempt,
	schedule.Strategy:  Effects.Strategy,
	schedule.Question:  Effects.Question,
	schedule.Hook:      Effects.Hook,
	schedule.Check:     Effects.Check,
	schedule.Settle:    Effects.SettleIteration,
	schedule.PlanSteps: Effects.PlanSteps,
	schedule.Inspect:   Effects.Inspect,
}

// writeManifest writes the manifest, then commits the event that names it.
func (r *runner) writeManifest(ctx context.Context, w EffectRequest) error {
	e, err := r.cfg.Effects.Manifest(w)
	if err != nil {
		return err
	}
	failpoint.Point("run.manifest.written")
	return r.commit(ctx, e)
}

// start runs an effect in a goroutine that Run waits for.
func (r *runner) start(ctx context.Context, w EffectRequest, effect func(Effects, context.Context, EffectRequest) event.Event) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.inFlight[w.Command.Key] = cancel
	r.effects.Go(func() {
		e := effect(r.cfg.Effects, ctx, w)
		select {
		case r.done <- effectResult{w.Command.Key, e}:
		case <-r.closed: // the loop ended with an error: a resume requests the work again
		}
	})
}

// wait handles the next event: the end or a record of an effect, a timer, a control event, the end of the grace, or a
// cancelled ctx.
func (r *runner) wait(ctx context.Context) error {
	key, timer := r.nextTimer()
	stopped := ctx.Done()
	if r.st.Stop != nil && r.grace == nil && r.st.Stop.Kind == state.PauseSignal {
		r.grace = time.After(r.cfg.Grace)
	}
	if len(r.inFlight) == 0 && !r.canContinue() && r.st.Stop == nil {
		return failure.New(failure.Internal, "session %s is running but nothing is in flight (event %d)", r.st.Session, r.st.Seq)
	}
	select {
	case e := <-r.done:
		return r.finishEffect(ctx, e)
	case q := <-r.records:
		return r.commitRecord(ctx, q)
	case <-timer:
		return r.commit(ctx, event.Event{Type: event.TimerFired, Key: key, Cursor: keyCursor(key)})
	case e, open := <-r.cfg.Control:
		return r.commitControl(ctx, e, open)
	case <-r.grace:
		r.cancelAll(failure.New(failure.SignalInterrupt, "the iteration did not end within %s of the signal", r.cfg.Grace))
		r.grace = nil
		return r.waitOne(ctx)
	case <-stopped:
		return r.stopNow(ctx)
	}
}

// stopNow handles a cancelled context: it requests a pause, cancels all effects, and waits for one of them.
func (r *runner) stopNow(ctx context.Context) error {
	if err := r.requestPause(ctx); err != nil {
		return err
	}
	r.cancelAll(failure.New(failure.SignalInterrupt, "stopped: %v", context.Cause(ctx)))
	return r.waitOne(ctx)
}

// requestPause journals the pause of a cancelled context, unless the run is being stopped already.
func (r *runner) requestPause(ctx context.Context) error {
	if r.st.Stop != nil || r.st.Status != state.Running {
		return nil
	}
	return r.commit(ctx, event.New(event.Control, nil, "", event.ControlData{
		Action: "pause", Kind: string(state.PauseSignal), Reason: context.Cause(ctx).Error(),
	}))
}

// waitOne commits the end of the next cancelled effect, and the records before that end.
func (r *runner) waitOne(ctx context.Context) error {
	for len(r.inFlight) > 0 {
		select {
		case e := <-r.done:
			return r.finishEffect(ctx, e)
		case q := <-r.records:
			if err := r.commitRecord(ctx, q); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *runner) cancelAll(cause error) {
	for _, cancel := range r.inFlight {
		cancel(cause)
	}
}

// canContinue reports whether a timer, other than a guardrail's, or an awaited answer will continue the run.
func (r *runner) canContinue() bool {
	if r.st.AwaitsUser() {
		return true
	}
	for _, t := range r.st.Timers {
		if t.Purpose != state.PurposeGuardrail {
			return true
		}
	}
	return false
}

// nextTimer returns the key of the armed timer with the least remaining time, and a channel that fires then. Ties are
// broken by key; "" and nil mean no timer.
func (r *runner) nextTimer() (event.Key, <-chan time.Time) {
	var first event.Key
	var left time.Duration
	for key, t := range r.st.Timers {
		if t.Reached != nil {
			continue
		}
		if l := r.deadlines.remaining(key, t); first == "" || l < left || l == left && key < first {
			first, left = key, l
		}
	}
	if first == "" || r.st.Status != state.Running {
		return "", nil
	}
	return first, time.After(left)
}

func keyCursor(key event.Key) *event.Cursor {
	_, loc, _, _ := key.Parse()
	return loc.Cursor()
}
