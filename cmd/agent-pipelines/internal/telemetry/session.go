package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Options configures a [Session].
type Options struct {
	Settings
	// Version is the version of this program.
	Version string
	// Follow reads the existing events of a session, as [engine.Engine.Follow] does with all lines.
	Follow func(ctx context.Context, session string, observe func(engine.Update) error) error
	// Warn is called once with the reason why telemetry does not arrive, and with each kind of invalid variable; from any
	// goroutine. The text never contains the value of a variable that may be secret.
	Warn func(string)
}

// Session sends a session's telemetry. A nil *Session does nothing. Concurrent use is safe; the caller closes it.
type Session struct {
	options Options
	spans   *spans // nil: no spans are sent
	meters  *meters
	arrived *sentCount
	builder *trace.SpanBuilder
	warn    func(error)
	cancel  context.CancelFunc // cancels exports that hang

	mu      sync.Mutex // guards:
	queue   []engine.Update
	closing bool
	wake    chan struct{} // holds a token while queue or closing has changed
	worker  sync.WaitGroup

	progress // used by the worker only
}

// progress is the position up to which the events of a session are applied.
type progress struct {
	timeline *timeline.Timeline      // nil before the first event
	last     int64                   // number of the last applied event
	waiting  map[int64]engine.Update // updates that wait for an earlier update
	run      string                  // the run that is sent
	count    int64                   // number of spans of the run
	live     bool                    // the applied events are of this process
	skip     int64                   // number of spans that an earlier kernel sent
}

// Start connects to the collector, which may be unreachable, and follows the session of the updates that
// [Session.Observe] gets. It returns nil if the settings send nothing.
func Start(ctx context.Context, o Options) (*Session, error) {
	if !o.On() {
		return nil, nil //nolint:nilnil // nothing is the valid answer, and does nothing
	}
	s := &Session{options: o, arrived: &sentCount{}, wake: make(chan struct{}, 1), progress: progress{waiting: map[int64]engine.Update{}}}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx)) // an interrupted run is sent, too
	var once sync.Once
	s.warn = func(err error) {
		once.Do(func() {
			reason := strings.ReplaceAll(err.Error(), "\n", "; ") // of traces and of metrics
			o.Warn("Telemetry does not arrive: " + reason + ". The session is not affected.")
		})
	}
	if err := s.connect(ctx, &configWarnings{warn: o.Warn}); err != nil {
		s.cancel()
		return nil, errors.Join(err, s.shutDown(ctx))
	}
	s.builder = trace.NewSpanBuilder(func(made trace.Span) { s.ended(ctx, made) })
	s.worker.Go(func() { s.work(ctx) })
	return s, nil
}

// connect creates the senders, which stop when ctx ends. The end of a session cancels a periodic export of metrics. The
// cancellation is not a failure, because the last export has all values.
func (s *Session) connect(ctx context.Context, left *configWarnings) error {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if !left.resource(err) && !errors.Is(err, context.Canceled) {
			s.warn(err)
		}
	}))
	otel.SetLogger(left.logger())
	about, err := newResource(ctx, s.options.Version, left)
	if err != nil {
		return err
	}
	if s.options.Traces != "" {
		if s.spans, err = newSpans(ctx, s.options.Settings, about, s.arrived); err != nil {
			return fmt.Errorf("set up the sender of spans: %w", err)
		}
	}
	if s.meters, err = newMeters(ctx, s.options.Settings, about); err != nil {
		return fmt.Errorf("set up the sender of metrics: %w", err)
	}
	return nil
}

// Sampled reports whether the spans of a trace are sent; the configured sampler may drop the trace.
func (s *Session) Sampled(id event.TraceID) bool {
	return s != nil && s.spans != nil && s.spans.flags(id).IsSampled()
}

// Observe adds an update. It never blocks.
func (s *Session) Observe(u engine.Update) {
	if s == nil || u.Event == nil {
		return
	}
	s.post(func() { s.queue = append(s.queue, u) })
}

// Close sends the remaining telemetry, for [FlushLimit] at most, and stops the worker.
func (s *Session) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), FlushLimit)
	defer cancel()
	context.AfterFunc(ctx, s.cancel)
	s.post(func() { s.closing = true })
	s.worker.Wait()
	s.meters.stop()
	switch err := s.shutDown(ctx); {
	case ctx.Err() != nil:
		s.warn(errLate)
	case err != nil:
		s.warn(err)
	}
}

// shutDown sends the remaining spans and metrics in parallel, and stops their senders.
func (s *Session) shutDown(ctx context.Context) error {
	var sending sync.WaitGroup
	var ofSpans, ofFigures error
	if s.spans != nil {
		sending.Go(func() { ofSpans = s.spans.queue.Shutdown(ctx) })
	}
	if s.meters != nil {
		sending.Go(func() { ofFigures = s.meters.provider.Shutdown(ctx) })
	}
	sending.Wait()
	return errors.Join(ofSpans, ofFigures)
}

// post changes the worker's input and wakes the worker.
func (s *Session) post(change func()) {
	s.mu.Lock()
	change()
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // the worker is awake
	}
}

// work applies updates until the session is closed, or ctx ends.
func (s *Session) work(ctx context.Context) {
	for range s.wake {
		s.mu.Lock()
		queue, closing := s.queue, s.closing
		s.queue = nil
		s.mu.Unlock()
		for _, u := range queue {
			s.next(ctx, u)
		}
		if !closing {
			continue
		}
		for len(s.waiting) > 0 && ctx.Err() == nil {
			s.skipGap()
		}
		return
	}
}

// heldLimit bounds the updates that wait for an earlier update. If more wait, the earlier update counts
// as lost.
const heldLimit = 1024

// errHole is the reason for an incomplete trace.
var errHole = errors.New("an event was not seen, and its span may be missing")

// next sorts updates by their number, because informative events may arrive early.
func (s *Session) next(ctx context.Context, u engine.Update) {
	seq := u.Event.Seq
	switch {
	case ctx.Err() != nil:
		return
	case s.run == "":
		s.begin(ctx, u)
	case seq <= s.last:
		return
	}
	s.waiting[seq] = u
	s.applyHeld()
	if len(s.waiting) > heldLimit {
		s.skipGap()
	}
}

// applyHeld applies the waiting updates that follow the last event without a gap.
func (s *Session) applyHeld() {
	for {
		next, ok := s.waiting[s.last+1]
		if !ok {
			return
		}
		delete(s.waiting, s.last+1)
		s.startMetrics()
		s.apply(next)
	}
}

// skipGap continues after lost updates. Later spans do not count as sent, because a later kernel builds other spans.
func (s *Session) skipGap() {
	s.warn(errHole)
	s.spans.gap()
	s.last = slices.Min(slices.Collect(maps.Keys(s.waiting))) - 1
	s.applyHeld()
}

// errReached ends the reading of earlier events.
var errReached = errors.New("the first event of this kernel")

// begin reads the earlier events of the run, and the number of spans already sent. It sends nothing of earlier runs.
func (s *Session) begin(ctx context.Context, u engine.Update) {
	s.run = u.Event.RunID
	s.skip = s.arrived.open(u.Dir, s.run)
	if u.Event.Seq > 1 {
		err := s.options.Follow(ctx, u.Session, func(before engine.Update) error {
			if before.Event.Seq >= u.Event.Seq {
				return errReached
			}
			s.apply(before)
			return ctx.Err()
		})
		switch {
		case ctx.Err() != nil:
			s.warn(errLate)
		case err != nil && !errors.Is(err, errReached):
			s.warn(err)
		}
	}
	s.last = u.Event.Seq - 1
}

// startMetrics starts the metrics before the first event of this process is applied.
func (s *Session) startMetrics() {
	if !s.live {
		s.meters.start()
	}
	s.live = true
}

func (s *Session) apply(u engine.Update) {
	s.last = u.Event.Seq
	if s.timeline == nil {
		s.timeline = timeline.New(cmp.Or(u.Plan, &plan.Plan{}))
	}
	if e, ok := s.timeline.Apply(*u.Event); ok {
		s.meters.count(u, e)
	}
	s.builder.Apply(*u.Event, u.State, u.Plan)
}

// ended counts a span in the metrics, and sends it unless an earlier kernel has sent it.
func (s *Session) ended(ctx context.Context, made trace.Span) {
	if made.Trace != event.RunTraceID(s.run) {
		return
	}
	if s.live {
		s.meters.addSpan(made)
	}
	if s.spans == nil {
		return
	}
	if s.count++; s.count > s.skip {
		s.spans.send(ctx, made)
	}
}
