package pluginhost

import (
	"context"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// defaultIdle is how long a process without calls is kept.
const defaultIdle = time.Minute

// processKey identifies interchangeable processes.
type processKey struct {
	// Path is the path by which the binary is called: a file with several names may be several plugins.
	Path string
	// Args are the arguments, joined by NUL: with other arguments a program is another plugin.
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

// processPool keeps plugin processes: one per [processKey], started at the first call and shared by all calls
// with an equal key. An idle process is stopped, a crashed one restarted with growing pauses and not at all
// for a while after too many crashes.
//
// A crash ends every call on the process. The call that began last is blamed; the others fail with
// [ErrCollateralFailure] and may be repeated without counting as an attempt. Since every crash is blamed on a call,
// retries end.
//
// It is safe for concurrent use.
type processPool[I pooledInstance] struct {
	idleTimeout time.Duration
	onCrash     func(I)
	quit        chan struct{}
	wait        sync.WaitGroup

	mu     sync.Mutex
	closed bool
	slots  map[processKey]*slot[I]
	live   map[*instanceState[I]]bool // all watched processes
}

// newProcessPool returns a pool; zero for idle means [defaultIdle]. onCrash is called for each process that ended
// unexpectedly, from a goroutine that Close waits for; it may be nil.
func newProcessPool[I pooledInstance](idle time.Duration, onCrash func(I)) *processPool[I] {
	if idle <= 0 {
		idle = defaultIdle
	}
	if onCrash == nil {
		onCrash = func(I) {}
	}
	return &processPool[I]{idleTimeout: idle, onCrash: onCrash, quit: make(chan struct{}), slots: map[processKey]*slot[I]{}, live: map[*instanceState[I]]bool{}}
}

// Acquire begins a call on the key's process and calls start if no process runs. It waits for the pause after a crash.
// The caller ends every lease with [lease.End].
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

// join returns a lease on the running process, nil if no process runs.
func (p *processPool[I]) join(s *slot[I]) (*lease[I], error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, closedError()
	case s.current == nil || s.current.ended():
		return nil, nil
	}
	return s.current.newLease(&p.mu), nil
}

// backoff waits for the pause after a crash, or returns an error while the process crashes too often.
func (p *processPool[I]) backoff(ctx context.Context, s *slot[I]) error {
	p.mu.Lock()
	now := time.Now()
	unhealthy, pause, words := s.history.cooldown(now), s.history.pause(now), s.history.lastOutput
	p.mu.Unlock()
	if unhealthy > 0 {
		f := failure.New(failure.ProviderCrashed, "the plugin crashed %d times within a minute and is not started again for %s",
			maxRestarts+1, unhealthy.Round(time.Second)).
			WithHint("repair the plugin, or wait; `%s` shows the plugins and their files", failure.Next("plugins", "list")).WithDetail(words)
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

// startFailed counts crashes and time-outs at the start. Other failures do not count: a file that is not
// a plugin does not become one by waiting.
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
	h := &instanceState[I]{instance: instance, slot: s, wakeups: make(chan struct{}, 1), watched: make(chan struct{}), calls: map[*lease[I]]bool{}}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		instance.Stop(context.Background())
		return nil, closedError()
	}
	s.current = h
	p.live[h] = true
	lease := h.newLease(&p.mu)
	p.wait.Go(func() { p.watch(h) })
	p.mu.Unlock()
	return lease, nil
}

// watch follows one process until its end.
func (p *processPool[I]) watch(h *instanceState[I]) {
	defer p.stop(h)
	defer close(h.watched)
	timer := time.NewTimer(p.idleTimeout)
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
			timer.Reset(p.idleTimeout)
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

// stop stops a process and forgets it.
func (p *processPool[I]) stop(h *instanceState[I]) {
	h.instance.Stop(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.live, h)
}

// handleCrash records an unexpected end and reports it.
func (p *processPool[I]) handleCrash(h *instanceState[I]) {
	p.mu.Lock()
	h.recordCrash()
	p.mu.Unlock()
	p.onCrash(h.instance)
}

func (p *processPool[I]) retire(h *instanceState[I]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.retired = true
	h.detach()
}

// retireIfIdle removes a process without calls from the pool and reports whether it did. With early it removes only a
// draining process.
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

// Retire ends the matching processes without calls and waits for them. When ctx ends first, they are killed.
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

// Close stops every process and waits until all have ended; calls in flight fail. When ctx ends first, the remaining
// processes are killed without waiting, and the cause is returned. After Close, every Acquire fails.
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
