package kernel

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// SignalGrace is how long a running iteration may go on after the first signal (REQUIREMENTS U102).
const SignalGrace = 30 * time.Second

// Journal commits events in order. Append returns them with sequence, time, run and epoch filled in,
// once those that change state are durable. It is safe for concurrent use.
type Journal interface {
	Append(ctx context.Context, events ...event.Event) ([]event.Event, error)
}

// Effects performs commands. Each method returns the event that ends the effect, with the command's
// key; it returns soon after ctx is cancelled and says so in the event by the kind of the
// cancellation's cause, a [failure.Error].
type Effects interface {
	Attempt(ctx context.Context, w Work) event.Event  // iteration_complete or error
	Strategy(ctx context.Context, w Work) event.Event // decision
	Question(ctx context.Context, w Work) event.Event // strategy_answer
	// Hook calls a hook: hook_complete, hook_timeout, hook_skipped, or question_asked. It commits hook_start
	// itself, once the hook's condition holds.
	Hook(ctx context.Context, w Work) event.Event
	// Check makes a check of the node: check_result. What cannot be measured is said in its failure.
	Check(ctx context.Context, w Work) event.Event
	// Settle finds and validates the artifact of the iteration, puts measured values into it, and settles the
	// outcome: iteration_complete, or error where the artifact is not what the contract says.
	Settle(ctx context.Context, w Work) event.Event
	// Inspect looks at the input artifact of a node: input_checked.
	Inspect(ctx context.Context, w Work) event.Event
	// PlanSteps finds the steps of a node in the artifact that they come from: steps_planned.
	PlanSteps(ctx context.Context, w Work) event.Event
	// Manifest writes a block's manifest and returns artifact_written. It is quick and waited for; an
	// error ends the run, as a journal that cannot be written does.
	Manifest(w Work) (event.Event, error)
}

// Work is a command with the node it is for, in a parallel block as its provider runs it, and the state in which it was given.
type Work struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
	// Record commits an event that happens during the effect. It returns when the event is durable and
	// applied, and an error if the run does not wait for the effect any more.
	Record func(ctx context.Context, e event.Event) error
	// Ask puts a question to a person, by its question_asked event, and waits for the answer. It fails when ctx
	// ends first, or the run.
	Ask func(ctx context.Context, asked event.Event) (event.QuestionAnsweredData, error)
}

// Config is what a run works with. Journal and Effects are needed, the rest may be zero.
type Config struct {
	Plan    *plan.Plan
	Journal Journal
	Effects Effects
	// Observe is called with every event applied and the state after it, in order, from one goroutine.
	Observe func(event.Event, state.State)
	// Control delivers control events (pause, abort) from outside.
	Control <-chan event.Event
	// Refused is called with a control event that does not fit the state, and with why; it changes nothing.
	Refused func(event.Event, error)
	// Grace replaces [SignalGrace] when it is not zero.
	Grace time.Duration
}

// Run drives the session from st until it has ended or paused and nothing is under way any more, and
// returns the last state. Cancelling ctx stops at once: what is under way is cancelled and the
// session paused, resumable. An error means that the journal could not be written; the session is
// then as the journal has it.
func Run(ctx context.Context, cfg Config, st state.State) (state.State, error) {
	r := &runner{cfg: cfg, st: st, clocks: clocks{}, inFlight: map[event.Key]context.CancelCauseFunc{}, done: make(chan effectResult), records: make(chan recordRequest), closed: make(chan struct{})}
	r.clocks.set(st.Timers, startTime(st))
	err := r.loop(ctx)
	r.cancelAll(failure.New(failure.SignalInterrupt, "the run has ended"))
	close(r.closed)
	r.effects.Wait()
	return r.st, err
}

type runner struct {
	cfg      Config
	st       state.State
	inFlight map[event.Key]context.CancelCauseFunc // effects under way
	done     chan effectResult
	records  chan recordRequest // what happens meanwhile
	closed   chan struct{}      // closed when nobody receives from done any more
	effects  sync.WaitGroup
	answers  answerWaiters
	clocks   clocks
	grace    <-chan time.Time // runs out some time after a signal
}

// end is what an effect came to.
type effectResult struct {
	key   event.Key // the command's
	event event.Event
}

// request is an event that an effect wants committed.
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

// heed takes up what somebody has asked for before anything new is started: an iteration may take hours.
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

// performDue performs the first command that is not under way yet and reports whether there was one:
// its event has changed the state, so the scheduler is asked again.
func (r *runner) performDue(ctx context.Context) (bool, error) {
	for _, c := range schedule.Decide(r.cfg.Plan, r.st) {
		cancel, busy := r.inFlight[c.Key]
		switch {
		case c.Kind == schedule.Cancel && busy:
			cancel(cancelCause(c))
		case c.Kind == schedule.Cancel || busy && c.Key != "":
		case r.st.Stop != nil && len(r.inFlight) > 0: // a strategy at work, which the state does not show
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

// causeOf is why a command cancels.
func cancelCause(c schedule.Command) error {
	if c.Cause == nil {
		return abortError()
	}
	return &schedule.Overrun{Failure: c.Cause}
}

func abortError() error { return failure.New(failure.Aborted, "the run was aborted") }

func (r *runner) perform(ctx context.Context, c schedule.Command) error {
	if c.Event != nil {
		if err := r.commit(ctx, *c.Event); err != nil {
			return err
		}
	}
	failpoint.Point("run.committed." + string(c.Kind))
	w := Work{Command: c, Node: schedule.StageAt(r.cfg.Plan, r.st, c.Location), State: r.st, Record: r.record, Ask: r.ask}
	switch c.Kind {
	case schedule.Record:
		return nil
	case schedule.Attempt:
		r.start(ctx, w, r.cfg.Effects.Attempt)
	case schedule.Strategy:
		r.start(ctx, w, r.cfg.Effects.Strategy)
	case schedule.Question:
		r.start(ctx, w, r.cfg.Effects.Question)
	case schedule.Hook:
		r.start(ctx, w, r.cfg.Effects.Hook)
	case schedule.Check:
		r.start(ctx, w, r.cfg.Effects.Check)
	case schedule.Settle:
		r.start(ctx, w, r.cfg.Effects.Settle)
	case schedule.PlanSteps:
		r.start(ctx, w, r.cfg.Effects.PlanSteps)
	case schedule.Inspect:
		r.start(ctx, w, r.cfg.Effects.Inspect)
	case schedule.WriteManifest:
		return r.writeManifest(ctx, w)
	default:
		return fmt.Errorf("perform %s: this version has no such effect", c.Kind)
	}
	return nil
}

// writeManifest writes the manifest before the event that names it.
func (r *runner) writeManifest(ctx context.Context, w Work) error {
	e, err := r.cfg.Effects.Manifest(w)
	if err != nil {
		return err
	}
	failpoint.Point("run.manifest.written")
	return r.commit(ctx, e)
}

// start runs an effect in a goroutine that Run waits for.
func (r *runner) start(ctx context.Context, w Work, effect func(context.Context, Work) event.Event) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r.inFlight[w.Command.Key] = cancel
	r.effects.Go(func() {
		e := effect(ctx, w)
		select {
		case r.done <- effectResult{w.Command.Key, e}:
		case <-r.closed: // the journal cannot be written: the work will be asked for again
		}
	})
}

// wait lets one thing happen: an effect ends, a timer is due, somebody asks for something, or ctx is
// cancelled.
func (r *runner) wait(ctx context.Context) error {
	key, timer := r.nextTimer()
	stopped := ctx.Done()
	if r.st.Stop != nil && r.grace == nil && r.st.Stop.Kind == state.PauseSignal {
		r.grace = time.After(r.signalGrace())
	}
	if len(r.inFlight) == 0 && !r.canContinue() && r.st.Stop == nil {
		return failure.New(failure.Internal, "session %s is running but nothing is under way (event %d)", r.st.Session, r.st.Seq)
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
		r.cancelAll(failure.New(failure.SignalInterrupt, "the iteration did not end within %s of the signal", r.signalGrace()))
		r.grace = nil
		return r.waitOne(ctx)
	case <-stopped:
		return r.stopNow(ctx)
	}
}

// stopNow serves a cancelled context: everything is cancelled, and the session pauses.
func (r *runner) stopNow(ctx context.Context) error {
	if err := r.requestPause(ctx); err != nil {
		return err
	}
	r.cancelAll(failure.New(failure.SignalInterrupt, "stopped: %v", context.Cause(ctx)))
	return r.waitOne(ctx)
}

// askToPause journals what a cancelled context asks for, unless the run is being stopped already.
func (r *runner) requestPause(ctx context.Context) error {
	if r.st.Stop != nil || r.st.Status != state.Running {
		return nil
	}
	return r.commit(ctx, event.New(event.Control, nil, "", event.ControlData{
		Action: "pause", Kind: string(state.PauseSignal), Reason: context.Cause(ctx).Error(),
	}))
}

// drainOne waits for one of the effects that were cancelled.
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

// waiting reports whether a timer is armed that lets the run go on, or a person is to answer.
func (r *runner) canContinue() bool {
	if r.st.AwaitsPerson() {
		return true
	}
	for _, t := range r.st.Timers {
		if t.Purpose != state.PurposeGuardrail {
			return true
		}
	}
	return false
}

// nextTimer is the armed timer that has the least time left, by that and key.
func (r *runner) nextTimer() (event.Key, <-chan time.Time) {
	var first event.Key
	var left time.Duration
	for key, t := range r.st.Timers {
		if t.Reached != nil {
			continue
		}
		if l := r.clocks.remaining(key, t); first == "" || l < left || l == left && key < first {
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

func (r *runner) signalGrace() time.Duration {
	if r.cfg.Grace > 0 {
		return r.cfg.Grace
	}
	return SignalGrace
}
