package pluginhost

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// target records the calls on it, in order.
type target struct {
	mu       sync.Mutex
	log      []string
	initErr  error
	validErr error
}

func (r *target) note(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, s)
}

func (r *target) Init(_ context.Context, req sdk.InitRequest) error {
	r.note("init " + req.WorkDir)
	return r.initErr
}

func (r *target) Validate(_ context.Context, req sdk.ValidateRequest) error {
	r.note("validate " + req.Model + string(req.Config))
	return r.validErr
}

func (r *target) Shutdown(context.Context) error {
	r.note("shutdown")
	return nil
}

func (r *target) call(g *callGuard, model string) error {
	return g.Call(context.Background(), sdk.ValidateRequest{Model: model, Config: []byte("{}")}, func(context.Context) error {
		r.note("call " + model)
		return nil
	})
}

func TestOrderOfCalls(t *testing.T) {
	r := &target{}
	g := newCallGuard(sdk.Component{Kind: sdk.KindProvider, Name: "x"}, r, sdk.InitRequest{WorkDir: "/w"})
	for _, model := range []string{"a", "a", "b", "a"} {
		check(t, r.call(g, model))
	}
	for range 2 {
		check(t, g.Shutdown(t.Context()))
	}
	want := []string{"init /w", "validate a{}", "call a", "call a", "validate b{}", "call b", "call a", "shutdown"}
	compare(t, want, r.log)
}

func TestRefusalsAreAskedAgain(t *testing.T) {
	own := failure.New(failure.ProviderMissing, "no cli")
	tests := []struct {
		name string
		r    *target
		kind failure.Kind
		log  []string
	}{
		{"init", &target{initErr: errors.New("no licence")}, failure.ConfigInvalid, []string{"init ", "init "}},
		{"init with a failure of its own", &target{initErr: own}, failure.ProviderMissing, []string{"init ", "init "}},
		{"validate", &target{validErr: errors.New("no such key")}, failure.ConfigInvalid, []string{"init ", "validate a{}", "validate a{}"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newCallGuard(sdk.Component{Kind: sdk.KindProvider, Name: "x"}, tt.r, sdk.InitRequest{})
			for range 2 {
				err := tt.r.call(g, "a")
				require(t, failure.KindOf(err) == tt.kind, err)
			}
			compare(t, tt.log, tt.r.log)
		})
	}
}

func TestComponentWithoutInit(t *testing.T) {
	g := newCallGuard(sdk.Component{}, struct{}{}, sdk.InitRequest{})
	called := false
	err := g.Call(t.Context(), sdk.ValidateRequest{}, func(context.Context) error { called = true; return nil })
	require(t, err == nil && called && g.Shutdown(t.Context()) == nil, called, err)
}

func TestInitOnceUnderConcurrentCalls(t *testing.T) {
	r := &target{}
	g := newCallGuard(sdk.Component{}, r, sdk.InitRequest{})
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			if err := r.call(g, "a"); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	compare(t, []string{"init ", "validate a{}"}, r.log[:2])
	require(t, len(r.log) == 18, len(r.log))
}

func TestSerialComponentsTakeTurns(t *testing.T) {
	for _, tt := range []struct {
		concurrency sdk.Concurrency
		most        int32
	}{{sdk.ConcurrencySerial, 1}, {sdk.ConcurrencySafe, 3}, {"", 3}} {
		synctest.Test(t, func(t *testing.T) {
			g := newCallGuard(sdk.Component{Concurrency: tt.concurrency}, struct{}{}, sdk.InitRequest{})
			var running, most atomic.Int32
			release := make(chan struct{})
			var wait sync.WaitGroup
			for range 3 {
				wait.Go(func() {
					_ = g.Call(t.Context(), sdk.ValidateRequest{}, func(context.Context) error {
						if n := running.Add(1); n > most.Load() {
							most.Store(n)
						}
						<-release
						running.Add(-1)
						return nil
					})
				})
			}
			synctest.Wait()
			compare(t, tt.most, running.Load())
			close(release)
			wait.Wait()
			got := most.Load()
			require(t, got == tt.most, got)
		})
	}
}

func TestWaitingForATurnCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newCallGuard(sdk.Component{Concurrency: sdk.ConcurrencySerial}, struct{}{}, sdk.InitRequest{})
		release := make(chan struct{})
		var wait sync.WaitGroup
		wait.Go(func() {
			_ = g.Call(t.Context(), sdk.ValidateRequest{}, func(context.Context) error { <-release; return nil })
		})
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		cancel(stopped)
		err := g.Call(ctx, sdk.ValidateRequest{}, func(context.Context) error { return nil })
		require(t, errors.Is(err, stopped), err)
		close(release)
		wait.Wait()
	})
}

// A call that waited for its turn still has its whole time limit.
func TestWaitingUsesUpNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newCallGuard(sdk.Component{Kind: sdk.KindProvider, Name: "x", Concurrency: sdk.ConcurrencySerial}, &target{}, sdk.InitRequest{})
		late := errors.New("late")
		pass := func(takes time.Duration) error {
			ctx, cancel := WithCallTimeout(t.Context(), time.Minute, late)
			defer cancel()
			return g.Call(ctx, sdk.ValidateRequest{}, func(ctx context.Context) error {
				select {
				case <-time.After(takes):
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		}
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				if err := pass(50 * time.Second); err != nil {
					t.Errorf("a call of 50 s with a limit of a minute: %v", err)
				}
			})
		}
		calls.Wait()
		err := pass(2 * time.Minute)
		require(t, errors.Is(err, late), err)
	})
}

var errLate = errors.New("late")

// Pauses, which may overlap, do not count.
func TestPausesDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithCallTimeout(t.Context(), time.Minute, errLate)
		defer cancel()
		began := time.Now()
		time.Sleep(40 * time.Second)
		resume, again := PauseCallTimeout(ctx), PauseCallTimeout(ctx)
		time.Sleep(time.Hour)
		resume()
		resume() // a second call does nothing
		time.Sleep(time.Hour)
		require(t, ctx.Err() == nil, context.Cause(ctx))
		again()
		<-ctx.Done()
		took := time.Since(began)
		require(t, took == 2*time.Hour+time.Minute && errors.Is(context.Cause(ctx), errLate), took, context.Cause(ctx))
	})
}

func TestCancelEndsTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := WithCallTimeout(t.Context(), time.Minute, errLate)
		cancel()
		time.Sleep(time.Hour)
		require(t, errors.Is(context.Cause(ctx), context.Canceled), context.Cause(ctx))
	})
}

// PauseCallTimeout accepts a context without a time limit.
func TestPauseWithoutDeadline(t *testing.T) {
	PauseCallTimeout(t.Context())()
}
