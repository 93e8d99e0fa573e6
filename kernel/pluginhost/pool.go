package pluginhost

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// defaultIdle is how long a process without calls is kept.
const defaultIdle = time.Minute

// ErrCollateral is in the chain of the failure of a call that fell with its process although another
// call is charged with the fall. Making it again uses up no try.
var ErrCollateralFailure = errors.New("the process fell during another call")

// ErrClosed is in the chain of what a closed pool answers.
var ErrClosed = errors.New("the plugin host is closed")

func closedError() error {
	return failure.New(failure.SignalInterrupt, "no plugin can be called: %w", ErrClosed)
}

// processKey says which processes are interchangeable.
type processKey struct {
	// Path is the binary as it is called: one file may be several plugins by its names.
	Path string
	// Args are the arguments, joined by NUL: one program may be several plugins by them.
	Args string
	// SHA256 is the digest of the binary.
	SHA256 string
	// Env is the environment, all entries joined by NUL.
	Env string
	// Dir is the working directory.
	Dir string
	// Sandbox names the isolation, "" for none.
	Sandbox string
}

// pooledInstance is a running process. All methods are safe for concurrent use.
type pooledInstance interface {
	// Done is closed when the process is gone.
	Done() <-chan struct{}
	// Alive reports, within a bound, whether the process answers.
	Alive(ctx context.Context) bool
	// Kill ends the process at once and does not wait.
	Kill()
	// Stop ends the process, within a bound, and lets go of everything.
	Stop(ctx context.Context)
	// Crash is the failure of the call that is charged with the end, Hung that of one whose process
	// had to be killed.
	Crash() *failure.Error
	Hung() *failure.Error
}

// processPool keeps instances. It is safe for concurrent use.
type processPool[I pooledInstance] struct {
	idle    time.Duration
	onCrash func(I)
	quit    chan struct{}
	wait    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	slots  map[processKey]*slot[I]
	live   map[*instanceState[I]]bool // all that are watched
}

// slot is the place of one key.
type slot[I pooledInstance] struct {
	starting chan struct{} // a token for whoever starts the process

	// The pool's mutex guards the rest.
	current *instanceState[I]
	history crashHistory
}

// newProcessPool makes a pool; idle zero is [DefaultIdle]. Fall is called for each instance that ended without
// being asked to, from a goroutine that Close waits for; nil for nobody.
func newProcessPool[I pooledInstance](idle time.Duration, fall func(I)) *processPool[I] {
	if idle <= 0 {
		idle = defaultIdle
	}
	if fall == nil {
		fall = func(I) {}
	}
	return &processPool[I]{idle: idle, onCrash: fall, quit: make(chan struct{}), slots: map[processKey]*slot[I]{}, live: map[*instanceState[I]]bool{}}
}

// Acquire begins a call on the key's process and calls start if there is none. It waits out the pause
// after a fall. Every lease is ended by [Lease.End].
func (p *processPool[I]) Acquire(ctx context.Context, key processKey, start func(context.Context) (I, error)) (*lease[I], error) {
	s := p.slot(key)
	select {
	case s.starting <- struct{}{}:
		defer func() { <-s.starting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if lease, err := p.join(s); lease != nil || err != nil {
		return lease, err
	}
	if err := p.backoff(ctx, s); err != nil {
		return nil, err
	}
	instance, err := start(ctx)
	if err != nil {
		p.startFailed(s, err)
		return nil, err
	}
	return p.track(s, instance)
}

func (p *processPool[I]) slot(key processKey) *slot[I] {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.slots[key]
	if !ok {
		s = &slot[I]{starting: make(chan struct{}, 1)}
		p.slots[key] = s
	}
	return s
}

// join enters the process that runs, if one does.
func (p *processPool[I]) join(s *slot[I]) (*lease[I], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, closedError()
	case s.current == nil || s.current.ended():
		return nil, nil
	}
	return s.current.newLease(p), nil
}

// backoff waits out the pause after a fall, or refuses while the process falls too often.
func (p *processPool[I]) backoff(ctx context.Context, s *slot[I]) error {
	p.mu.Lock()
	now := time.Now()
	unhealthy, pause, words := s.history.cooldown(now), s.history.pause(now), s.history.lastOutput
	p.mu.Unlock()
	if unhealthy > 0 {
		f := failure.New(failure.ProviderCrashed, "the plugin fell %d times within a minute and is left alone for %s",
			maxRestarts+1, unhealthy.Round(time.Second)).
			WithHint("repair the plugin, or wait; `agent-pipelines plugins list` shows which one it is").WithDetail(words)
		f.RetryAfterSeconds = unhealthy.Seconds()
		return f
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.quit:
		return closedError()
	}
}

// startFailed counts falls and time-outs at the start; a binary that is no plugin does not become one
// by waiting.
func (p *processPool[I]) startFailed(s *slot[I], err error) {
	kind := failure.KindOf(err)
	if kind != failure.ProviderCrashed && kind != failure.ProviderTimeout {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.history.add(time.Now(), failure.From(err).Detail)
}

func (p *processPool[I]) track(s *slot[I], instance I) (*lease[I], error) {
	h := &instanceState[I]{instance: instance, slot: s, wakeups: make(chan struct{}, 1), calls: map[*lease[I]]bool{}}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		instance.Stop(context.Background())
		return nil, closedError()
	}
	s.current = h
	p.live[h] = true
	lease := h.newLease(p)
	p.wait.Go(func() { p.watch(h) })
	p.mu.Unlock()
	return lease, nil
}

// watch sees one process through to its end.
func (p *processPool[I]) watch(h *instanceState[I]) {
	defer p.stop(h)
	timer := time.NewTimer(p.idle)
	defer timer.Stop()
	for {
		select {
		case <-h.instance.Done():
			p.handleCrash(h)
			return
		case <-p.quit:
			p.retire(h)
			return
		case <-h.wakeups:
			timer.Reset(p.idle)
			if p.retireIfIdle(h, true) {
				return
			}
		case <-timer.C:
			if p.retireIfIdle(h, false) {
				return
			}
		}
	}
}

// stop lets go of the process; a pool that is closed still does so in good order.
func (p *processPool[I]) stop(h *instanceState[I]) {
	h.instance.Stop(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, h)
}

// handleCrash records the end that nobody asked for and charges a call with it.
func (p *processPool[I]) handleCrash(h *instanceState[I]) {
	p.mu.Lock()
	p.recordCrash(h)
	p.mu.Unlock()
	p.onCrash(h.instance)
}

func (p *processPool[I]) retire(h *instanceState[I]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.retired = true
	h.detach()
}

// retireIfIdle takes a process without calls out of the pool: one whose time is over, or early, one that is leaving.
func (p *processPool[I]) retireIfIdle(h *instanceState[I], early bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(h.calls) > 0 || early && !h.draining {
		return false
	}
	h.retired = true
	h.detach()
	return true
}

// Retire ends the instances that match and have no call on them, and waits for that. When ctx ends first, they are killed.
func (p *processPool[I]) Retire(ctx context.Context, match func(I) bool) {
	p.mu.Lock()
	var leaving []*instanceState[I]
	for h := range p.live {
		if match(h.instance) && len(h.calls) == 0 {
			h.draining = true
			h.detach()
			leaving = append(leaving, h)
		}
	}
	p.mu.Unlock()
	for _, h := range leaving {
		h.wake()
	}
	for _, h := range leaving {
		select {
		case <-h.instance.Done():
		case <-ctx.Done():
			h.instance.Kill()
		}
	}
}

// Close stops every process and waits for that; calls in flight fail. When ctx ends first, what is
// left is killed without waiting, and the cause is returned. Nothing can be acquired any more.
func (p *processPool[I]) Close(ctx context.Context) error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.quit)
	}
	p.mu.Unlock()
	stopped := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() {
		defer close(stopped)
		p.wait.Wait()
	})
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		p.killAll()
		return context.Cause(ctx)
	}
}

func (p *processPool[I]) killAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := range p.live {
		h.instance.Kill()
	}
}
