package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// FlushLimit is how long the end of a session waits for the collector.
const FlushLimit = 3 * time.Second

// Options are what a [Session] works with.
type Options struct {
	Settings
	// Version is this program's.
	Version string
	// Follow reads the events of a session that are there, as [kernel.Engine.Follow] does with all lines.
	Follow func(ctx context.Context, session string, observe func(kernel.Update) error) error
	// Warn is called with what keeps telemetry from arriving, once, from any goroutine.
	Warn func(string)
}

// Session sends what happens in one session. A nil one does nothing. It is safe for concurrent use; the caller closes it.
type Session struct {
	options Options
	spans   *spans   // nil: none are sent
	figures *figures // nil: none are sent
	arrived *arrived
	builder *trace.Builder
	warn    func(error)

	mu      sync.Mutex // guards:
	queue   []kernel.Update
	closing bool
	wake    chan struct{} // holds a token while there is something new
	worker  sync.WaitGroup

	// Of the worker:
	last int64                   // number of the last event that was taken up
	held map[int64]kernel.Update // that came before one that they follow
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
	s := &Session{options: o, arrived: &arrived{}, wake: make(chan struct{}, 1), held: map[int64]kernel.Update{}}
	var once sync.Once
	s.warn = func(err error) {
		once.Do(func() {
			reason := strings.ReplaceAll(err.Error(), "\n", "; ") // of traces and of metrics
			o.Warn("Telemetry does not arrive: " + reason + ". The session is not affected.")
		})
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(s.warn))
	about, err := about(ctx, o.Version)
	if err != nil {
		return nil, err
	}
	if o.Traces != "" {
		if s.spans, err = newSpans(ctx, o.Settings, about, s.arrived); err != nil {
			return nil, fmt.Errorf("set up what sends spans: %w", err)
		}
	}
	if o.Metrics != "" {
		if s.figures, err = newFigures(ctx, o.Settings, about); err != nil {
			return nil, errors.Join(fmt.Errorf("set up what sends metrics: %w", err), s.shut())
		}
	}
	s.builder = trace.NewBuilder(s.ended)
	s.worker.Go(s.work)
	return s, nil
}

// about says who sends: this program, or what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say.
func about(ctx context.Context, version string) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("agent-pipelines"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(rand.Text())), resource.WithFromEnv())
}

// Observe takes an update up. It never waits.
func (s *Session) Observe(u kernel.Update) {
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
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.signal()
	s.worker.Wait()
	if err := s.shut(); err != nil {
		s.warn(err)
	}
}

// shut sends what waits, spans and metrics side by side.
func (s *Session) shut() error {
	ctx, cancel := context.WithTimeout(context.Background(), FlushLimit)
	defer cancel()
	var sending sync.WaitGroup
	var ofSpans, ofFigures error
	if s.spans != nil {
		sending.Go(func() { ofSpans = s.spans.provider.Shutdown(ctx) })
	}
	if s.figures != nil {
		sending.Go(func() { ofFigures = s.figures.provider.Shutdown(ctx) })
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

// work takes updates up until the session is closed.
func (s *Session) work() {
	for range s.wake {
		s.mu.Lock()
		queue, closing := s.queue, s.closing
		s.queue = nil
		s.mu.Unlock()
		for _, u := range queue {
			s.next(u)
		}
		if closing {
			return
		}
	}
}

// next brings updates into the order of the journal: what only informs may come before what it follows.
func (s *Session) next(u kernel.Update) {
	seq := u.Event.Seq
	switch {
	case s.run == "":
		s.begin(u)
	case seq <= s.last:
		return
	}
	s.held[seq] = u
	for {
		next, ok := s.held[s.last+1]
		if !ok {
			return
		}
		delete(s.held, s.last+1)
		s.live = true
		s.take(next)
	}
}

// errReached ends the reading of what was before.
var errReached = errors.New("the first event of this kernel")

// begin reads what was in the journal before this kernel, and what of it was sent. Of earlier runs nothing is sent.
func (s *Session) begin(u kernel.Update) {
	s.run = u.Event.RunID
	s.skip = s.arrived.open(u.Dir, s.run)
	if u.Event.Seq > 1 {
		err := s.options.Follow(context.Background(), u.Session, func(before kernel.Update) error {
			if before.Event.Seq >= u.Event.Seq {
				return errReached
			}
			s.take(before)
			return nil
		})
		if err != nil && !errors.Is(err, errReached) {
			s.warn(err)
		}
	}
	s.last = u.Event.Seq - 1
}

func (s *Session) take(u kernel.Update) {
	s.last = u.Event.Seq
	if s.live && s.figures != nil {
		s.figures.take(u)
	}
	s.builder.Take(*u.Event, u.State, u.Plan)
}

// ended sends a span, unless an earlier kernel has.
func (s *Session) ended(made trace.Span) {
	if made.Trace != event.TraceOf(s.run) {
		return
	}
	if s.live && s.figures != nil {
		s.figures.span(made)
	}
	if s.spans == nil {
		return
	}
	if s.made++; s.made > s.skip {
		s.spans.send(made)
	}
}
