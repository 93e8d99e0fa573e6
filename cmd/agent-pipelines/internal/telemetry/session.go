package telemetry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// FlushLimit is how long the end of a session waits for the collector.
const FlushLimit = 3 * time.Second

// errLate ends what the collector has not taken when the end of a session waits no longer.
var errLate = fmt.Errorf("the collector had not taken everything %v after the end", FlushLimit)

// Options are what a [Session] works with.
type Options struct {
	Settings
	// Version is this program's.
	Version string
	// Follow reads the events of a session that are there, as [engine.Engine.Follow] does with all lines.
	Follow func(ctx context.Context, session string, observe func(engine.Update) error) error
	// Warn is called with what keeps telemetry from arriving, once, and with each kind of thing in the variables that cannot
	// be obeyed; from any goroutine. No value of a variable that may be secret is in it.
	Warn func(string)
}

// Session sends what happens in one session. A nil one does nothing. It is safe for concurrent use; the caller closes it.
type Session struct {
	options Options
	spans   *spans  // nil: none are sent
	meters  *meters // nil: none are sent
	arrived *sentCount
	builder *trace.SpanBuilder
	warn    func(error)
	cancel  context.CancelFunc // ends what hangs

	mu      sync.Mutex // guards:
	queue   []engine.Update
	closing bool
	wake    chan struct{} // holds a token while there is something new
	worker  sync.WaitGroup

	// Of the worker:
	last int64                   // number of the last event that was taken up
	held map[int64]engine.Update // that came before one that they follow
	run  string                  // the run that is sent
	made int64                   // spans of it
	live bool                    // what is taken up happens in this process, and was not there before
	skip int64                   // those of them that an earlier kernel sent
}

// Start connects to the collector, which need not be there, and begins to follow the session that [Session.Observe] is
// told of. It returns nil where the settings ask for nothing.
func Start(ctx context.Context, o Options) (*Session, error) {
	if !o.On() {
		return nil, nil //nolint:nilnil // nothing is the valid answer, and does nothing
	}
	s := &Session{options: o, arrived: &sentCount{}, wake: make(chan struct{}, 1), held: map[int64]engine.Update{}}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx)) // a run that was interrupted is sent, too
	var once sync.Once
	s.warn = func(err error) {
		once.Do(func() {
			reason := strings.ReplaceAll(err.Error(), "\n", "; ") // of traces and of metrics
			o.Warn("Telemetry does not arrive: " + reason + ". The session is not affected.")
		})
	}
	if err := s.connect(ctx, &configWarnings{warn: o.Warn}); err != nil {
		s.cancel()
		return nil, errors.Join(err, s.shut(ctx))
	}
	s.builder = trace.NewSpanBuilder(func(made trace.Span) { s.ended(ctx, made) })
	s.worker.Go(func() { s.work(ctx) })
	return s, nil
}

// connect makes what sends, until ctx ends.
func (s *Session) connect(ctx context.Context, left *configWarnings) error {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if !left.resource(err) {
			s.warn(err)
		}
	}))
	otel.SetLogger(left.logger())
	about, err := about(ctx, s.options.Version, left)
	if err != nil {
		return err
	}
	if s.options.Traces != "" {
		if s.spans, err = newSpans(ctx, s.options.Settings, about, s.arrived); err != nil {
			return fmt.Errorf("set up what sends spans: %w", err)
		}
	}
	if s.options.Metrics != "" {
		if s.meters, err = newMeters(ctx, s.options.Settings, about); err != nil {
			return fmt.Errorf("set up what sends metrics: %w", err)
		}
	}
	return nil
}

// Sampled says whether the spans of a trace are sent: the sampler that the variables name may leave it out.
func (s *Session) Sampled(id event.TraceID) bool {
	return s != nil && s.spans != nil && s.spans.flags(id).IsSampled()
}

// Observe takes an update up. It never waits.
func (s *Session) Observe(u engine.Update) {
	if s == nil || u.Event == nil {
		return
	}
	s.mu.Lock()
	s.queue = append(s.queue, u)
	s.mu.Unlock()
	s.signal()
}

// Close sends what is left, for [FlushLimit] at most, and ends what was started.
func (s *Session) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), FlushLimit)
	defer cancel()
	context.AfterFunc(ctx, s.cancel)
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.signal()
	s.worker.Wait()
	if s.meters != nil {
		s.meters.stop()
	}
	switch err := s.shut(ctx); {
	case ctx.Err() != nil:
		s.warn(errLate)
	case err != nil:
		s.warn(err)
	}
}

// shut sends what waits, spans and metrics side by side.
func (s *Session) shut(ctx context.Context) error {
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

func (s *Session) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// work takes updates up until the session is closed, or ctx ends.
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
		for len(s.held) > 0 && ctx.Err() == nil {
			s.skipGap()
		}
		return
	}
}
