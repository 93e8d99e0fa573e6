package session

import (
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/derived"
	"github.com/dodo-digital/agent-pipelines/engine/internal/fold"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// replay is the result of one pass over a session's journal, made when the session is opened. It keeps no
// events, because a session may have millions.
type replay struct {
	marker  string // of the session's processes
	log     journal.Summary
	kernels []process.Marker // kernels that have run the session
	// The fields below are nil if no plan is known.
	fold      *fold.Fold
	stateFile *statefile.Writer
	timeline  *timeline.Timeline
	derived   *derived.Fold
}

func (t *replay) apply(e event.Event) {
	if e.Type == event.KernelStart {
		t.addKernel(e)
	}
	if t.fold != nil {
		t.fold.Apply(e)
		st, _ := t.fold.State() // an unreadable event is reported when the session is opened
		t.stateFile.Replay(e, st)
		t.timeline.Apply(e)
	}
}

// addKernel adds the process marker of a kernel.
func (t *replay) addKernel(e event.Event) {
	d, err := event.Decode[event.KernelStartData](e)
	if err != nil {
		return
	}
	_, ticks, _ := strings.Cut(d.StartTime, "/") // the ticks follow the id of the boot
	if start, err := strconv.ParseUint(ticks, 10, 64); err == nil {
		t.kernels = append(t.kernels, process.Marker{Run: t.marker, PID: d.PID, Start: start})
	}
}

// isComplete reports whether the journal alone yields the session's state.
func (t *replay) isComplete() bool { return t.fold != nil && t.fold.Complete(t.log) }

// state returns the state of the session called name. The fold ignored invalid events, such as late deliveries.
func (t *replay) state(name string) (state.State, error) {
	st, err := t.fold.State()
	if err != nil {
		return state.State{}, failure.New(failure.StateCorrupt, "read the journal of session '%s': %w", name, err).
			WithHint("use the version that wrote it, or start the session again with %s", failure.Option("force"))
	}
	return st, nil
}

// newReplay returns an empty replay for a plan, which may be nil.
func (h *handle) newReplay(p *plan.Plan) *replay {
	t := &replay{marker: h.processMarker()}
	if p != nil {
		t.fold, t.stateFile, t.timeline = fold.New(h.dir, p), statefile.New(h.dir, p), timeline.New(p)
		t.derived = derived.New(t.timeline)
	}
	return t
}

// replayReadOnly reads the journal of a session that is not opened for writing.
func (h *handle) replayReadOnly(p *plan.Plan) (*replay, error) {
	t := h.newReplay(p)
	var err error
	t.log, err = journal.Read(h.dir, func(e event.Event) error {
		t.apply(e)
		return nil
	})
	return t, err
}

// replayAgain reads the journal again with a plan that was recovered, up to the last event read before.
func (h *handle) replayAgain(t *replay, p *plan.Plan) error {
	again := h.newReplay(p)
	again.log = t.log
	_, err := journal.Read(h.dir, func(e event.Event) error {
		if e.Seq <= again.log.Last.Seq {
			again.apply(e)
		}
		return nil
	})
	if err == nil {
		*t = *again
	}
	return err
}

// previousKernels returns the kernels that have run a session, as far as its journal is readable.
func (h *handle) previousKernels() []process.Marker {
	t, err := h.replayReadOnly(nil)
	if err != nil {
		h.log.Debug("could not read the journal", "error", err)
	}
	return t.kernels
}
