package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// fakeProcess is a process that the test lets crash or hang.
type fakeProcess struct {
	number  int
	done    chan struct{}
	end     sync.Once
	hung    atomic.Bool
	stopped atomic.Bool
}

func (f *fakeProcess) Done() <-chan struct{} { return f.done }
func (f *fakeProcess) Kill()                 { f.end.Do(func() { close(f.done) }) }
func (f *fakeProcess) Stop(context.Context)  { f.stopped.Store(true); f.Kill() }

func (f *fakeProcess) Alive(context.Context) bool {
	select {
	case <-f.done:
		return false
	default:
		return !f.hung.Load()
	}
}

func (f *fakeProcess) Crash() *failure.Error {
	return failure.New(failure.ProviderCrashed, "crash %d", f.number).WithDetail(fmt.Sprint("words of ", f.number))
}

func (f *fakeProcess) Hung() *failure.Error {
	return failure.New(failure.ProviderCrashed, "hung %d", f.number)
}

// poolBench is a pool of fakes that records their starts.
type poolBench struct {
	*processPool[*fakeProcess]
	t       *testing.T
	started []*fakeProcess
	fell    atomic.Int32
	err     error
}

func newPoolBench(t *testing.T) *poolBench {
	b := &poolBench{t: t}
	b.processPool = newProcessPool(time.Minute, func(*fakeProcess) { b.fell.Add(1) })
	return b
}

func (b *poolBench) start(context.Context) (*fakeProcess, error) {
	if b.err != nil {
		return nil, b.err
	}
	f := &fakeProcess{number: len(b.started) + 1, done: make(chan struct{})}
	b.started = append(b.started, f)
	return f, nil
}

func (b *poolBench) acquire(key processKey) *lease[*fakeProcess] {
	b.t.Helper()
	l := must(b.Acquire(b.t.Context(), key, b.start))
	return l
}

func (b *poolBench) close() {
	if err := b.Close(context.Background()); err != nil {
		b.t.Error(err)
	}
}

// testPool runs a test in a synctest bubble, and closes its pool.
func testPool(t *testing.T, test func(t *testing.T, b *poolBench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newPoolBench(t)
		defer b.close()
		test(t, b)
	})
}

var lost = failure.New(failure.ProviderCrashed, "the connection broke")

func TestOneProcessForEqualKeys(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		base := processKey{Path: "/p", SHA256: "d", Env: "e", Dir: "/w"}
		numbers := map[processKey]int{}
		for _, k := range []processKey{
			base,
			{"/P", "", "d", "e", "/w", ""},
			{"/p", "a", "d", "e", "/w", ""},
			{"/p", "", "D", "e", "/w", ""},
			{"/p", "", "d", "E", "/w", ""},
			{"/p", "", "d", "e", "/W", ""},
			{"/p", "", "d", "e", "/w", "s"},
			base,
		} {
			l := b.acquire(k)
			if n, ok := numbers[k]; ok && n != l.Instance().number {
				t.Errorf("key %+v got process %d and then %d", k, n, l.Instance().number)
			}
			numbers[k] = l.Instance().number
			check(t, l.End(t.Context(), nil))
		}
		compare(t, len(numbers), len(b.started))
	})
}

func TestConcurrentCallsStartOneProcess(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() { _ = b.acquire(processKey{}).End(t.Context(), nil) })
		}
		wait.Wait()
		compare(t, 1, len(b.started))
	})
}

func TestIdleProcessIsStopped(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		l := b.acquire(processKey{})
		time.Sleep(5 * time.Minute)
		if b.started[0].stopped.Load() {
			t.Fatal("a process was stopped during a call")
		}
		_ = l.End(t.Context(), nil)
		time.Sleep(59 * time.Second)
		_ = b.acquire(processKey{}).End(t.Context(), nil)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if b.started[0].stopped.Load() || len(b.started) != 1 {
			t.Fatal("a process was stopped before it was idle for a minute")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !b.started[0].stopped.Load() {
			t.Error("the idle process runs on")
		}
		_ = b.acquire(processKey{}).End(t.Context(), nil)
		if len(b.started) != 2 || b.fell.Load() != 0 {
			t.Errorf("%d processes, %d falls, want 2 and none", len(b.started), b.fell.Load())
		}
	})
}

func TestNewestCallIsChargedForCrash(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		done := b.acquire(processKey{})
		first, second, third := b.acquire(processKey{}), b.acquire(processKey{}), b.acquire(processKey{})
		_ = done.End(t.Context(), nil)
		b.started[0].Kill()
		synctest.Wait()
		type seen struct {
			Message, Detail string
			Collateral      bool
		}
		var got []seen
		for _, l := range []*lease[*fakeProcess]{first, second, third} {
			f := failure.From(l.End(t.Context(), lost))
			got = append(got, seen{f.Message, f.Detail, errors.Is(f, ErrCollateralFailure)})
			if f.Kind != failure.ProviderCrashed || !f.Retryable {
				t.Errorf("failure %+v is not a retryable crash", f)
			}
		}
		want := []seen{
			{"crash 1, during another call", "words of 1", true},
			{"crash 1, during another call", "words of 1", true},
			{"crash 1", "words of 1", false},
		}
		compare(t, want, got)
		if b.fell.Load() != 1 || !b.started[0].stopped.Load() {
			t.Errorf("%d crashes reported, cleaned up %v", b.fell.Load(), b.started[0].stopped.Load())
		}
	})
}

func TestHungProcessIsKilledAndCharged(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		first, second := b.acquire(processKey{}), b.acquire(processKey{})
		b.started[0].hung.Store(true)
		err := first.End(t.Context(), failure.New(failure.ProviderTimeout, "no answer"))
		if failure.From(err).Message != "hung 1" || errors.Is(err, ErrCollateralFailure) {
			t.Errorf("the call that found the process hung: %v", err)
		}
		if err := second.End(t.Context(), lost); !errors.Is(err, ErrCollateralFailure) {
			t.Errorf("the other call: %v", err)
		}
	})
}

// Attempt 2 must not run beside attempt 1: the process of an attempt without a result is killed, even one that answers
// other calls, also when the attempt was cancelled. AUDIT F1.
func TestProcessOfUnfinishedAttemptIsKilled(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ctx := range []context.Context{t.Context(), cancelled} {
		testPool(t, func(t *testing.T, b *poolBench) {
			l, other := b.acquire(processKey{}), b.acquire(processKey{})
			err := l.End(ctx, errors.Join(failure.New(failure.ProviderFailed, "no result"), client.ErrUnfinished))
			if failure.From(err).Message != "no result" || !l.state.ended() {
				t.Errorf("error %v, the process ended: %v", err, l.state.ended())
			}
			if err := other.End(t.Context(), lost); !errors.Is(err, ErrCollateralFailure) {
				t.Errorf("the other call: %v", err)
			}
			next := b.acquire(processKey{})
			compare(t, 2, next.Instance().number)
			check(t, next.End(t.Context(), nil))
		})
	}
}

func TestErrorsOfHealthyProcess(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		for _, err := range []error{lost, errors.New("plain"), failure.New(failure.ProviderFailed, "no"), context.Canceled} {
			if got := b.acquire(processKey{}).End(t.Context(), err); !errors.Is(got, err) || errors.Is(got, ErrCollateralFailure) || got.Error() != err.Error() {
				t.Errorf("error %v became %v", err, got)
			}
		}
		compare(t, 1, len(b.started))
	})
}

func TestCancelledCallAndHungProcess(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		l := b.acquire(processKey{})
		b.started[0].hung.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.End(ctx, ctx.Err()); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the cancellation", err)
		}
		synctest.Wait()
		select {
		case <-b.started[0].done:
		default:
			t.Error("the hung process lives on")
		}
	})
}

// U056: a process with a cancelled call ends with its last call, and no other call joins it. The last cancelled call
// returns when the process is gone.
func TestProcessOfCancelledCallEnds(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		given, stays := b.acquire(processKey{}), b.acquire(processKey{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := given.End(ctx, ctx.Err()); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the cancellation", err)
		}
		synctest.Wait()
		if b.started[0].stopped.Load() {
			t.Error("the process ended under a call that was not cancelled")
		}
		next := b.acquire(processKey{})
		if next.Instance() == given.Instance() {
			t.Error("a later call joined the process")
		}
		check(t, stays.End(t.Context(), nil))
		synctest.Wait()
		if !b.started[0].stopped.Load() {
			t.Error("the process did not end with its last call")
		}
		if err := next.End(ctx, ctx.Err()); !errors.Is(err, context.Canceled) || !next.state.ended() {
			t.Errorf("the last call returned with %v before its process was gone", err)
		}
		compare(t, 0, b.fell.Load())
	})
}

func TestRestartsPauseAndStop(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		var pauses []time.Duration
		for range maxRestarts + 1 {
			begun := time.Now()
			l := b.acquire(processKey{})
			pauses = append(pauses, time.Since(begun))
			l.Instance().Kill()
			synctest.Wait()
			_ = l.End(t.Context(), lost)
		}
		want := []time.Duration{0, 250 * time.Millisecond, 500 * time.Millisecond, time.Second}
		compare(t, want, pauses)
		_, err := b.Acquire(t.Context(), processKey{}, b.start)
		f := failure.From(err)
		if f == nil || f.Kind != failure.ProviderCrashed || f.Detail != "words of 4" || f.RetryAfterSeconds <= 50 {
			t.Fatalf("after four falls: %+v", f)
		}
		time.Sleep(time.Duration(f.RetryAfterSeconds * float64(time.Second)))
		_ = b.acquire(processKey{}).End(t.Context(), nil)
		compare(t, maxRestarts+2, len(b.started))
	})
}

func TestFailedStartsCountAsCrashes(t *testing.T) {
	tests := []struct {
		kind  failure.Kind
		pause time.Duration
	}{{failure.ProviderCrashed, firstRestartPause}, {failure.ProviderTimeout, firstRestartPause}, {failure.PluginInvalid, 0}}
	for _, tt := range tests {
		testPool(t, func(t *testing.T, b *poolBench) {
			b.err = failure.New(tt.kind, "no")
			if _, err := b.Acquire(t.Context(), processKey{}, b.start); !errors.Is(err, b.err) {
				t.Errorf("error %v, want %v", err, b.err)
			}
			b.err = nil
			begun := time.Now()
			_ = b.acquire(processKey{}).End(t.Context(), nil)
			if got := time.Since(begun); got != tt.pause {
				t.Errorf("%s: pause %v, want %v", tt.kind, got, tt.pause)
			}
		})
	}
}

func TestHistoryPauseIsBounded(t *testing.T) {
	var h crashHistory
	now := time.Unix(0, 0)
	for range 40 {
		h.add(now, "")
	}
	compare(t, longestRestartPause, h.pause(now))
	h.reset()
	compare(t, 0, h.pause(now))
}

func TestWaitingForAStartCanBeCancelled(t *testing.T) {
	testPool(t, func(t *testing.T, b *poolBench) {
		release := make(chan struct{})
		var wait sync.WaitGroup
		wait.Go(func() {
			_, _ = b.Acquire(t.Context(), processKey{}, func(context.Context) (*fakeProcess, error) { <-release; return nil, lost })
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Acquire(ctx, processKey{}, b.start); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the deadline", err)
		}
		close(release)
		wait.Wait()
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPoolBench(t)
		l := b.acquire(processKey{})
		for range 2 {
			b.close()
		}
		require(t, b.started[0].stopped.Load(), "the process runs on")
		err := l.End(t.Context(), lost)
		require(t, errors.Is(err, ErrClosed), err, ErrClosed)
		_, err = b.Acquire(t.Context(), processKey{}, b.start)
		require(t, errors.Is(err, ErrClosed), err, ErrClosed)
		compare(t, 0, b.fell.Load())
	})
}

func TestCloseDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newPoolBench(t)
		f := &fakeProcess{done: make(chan struct{})}
		_, err := b.Acquire(t.Context(), processKey{}, func(context.Context) (*fakeProcess, error) {
			b.close()
			return f, nil
		})
		require(t, errors.Is(err, ErrClosed) && f.stopped.Load(), err, f.stopped.Load())
	})
}

func TestCloseKillsAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcessPool[*slowProcess](time.Minute, nil)
		s := &slowProcess{fakeProcess{done: make(chan struct{})}}
		l := must(p.Acquire(t.Context(), processKey{}, func(context.Context) (*slowProcess, error) { return s, nil }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := p.Close(ctx)
		require(t, errors.Is(err, context.DeadlineExceeded), err)
		<-s.done
		_ = l.End(t.Context(), nil)
	})
}

// slowProcess stops only once it is killed.
type slowProcess struct{ fakeProcess }

func (s *slowProcess) Stop(context.Context) { <-s.done }
