package cliagent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	limits := Command{Timeout: time.Hour, IdleTimeout: time.Minute, Linger: 10 * time.Second}
	signed := func(holds func(silence time.Duration) bool) Command {
		c := limits
		c.Done = &Completion{Reached: holds, Every: 25 * time.Second, Linger: 5 * time.Second}
		return c
	}
	// from returns a Reached function that returns true after d, on the clock of the test's bubble.
	from := func(d time.Duration) func(time.Duration) bool {
		var begin time.Time
		return func(time.Duration) bool {
			if begin.IsZero() {
				begin = time.Now().Add(-25 * time.Second)
			}
			return time.Since(begin) >= d
		}
	}
	never := func(time.Duration) bool { return false }
	tests := []struct {
		name   string
		limits Command
		play   func(p *process, cancel context.CancelFunc)
		want   StopReason
		after  time.Duration
	}{
		{"ends without a signal", limits, func(p *process, _ context.CancelFunc) {
			time.Sleep(time.Second)
			close(p.exited)
		}, StopNone, time.Second},
		{"silent from the beginning", limits, func(*process, context.CancelFunc) {}, StopIdle, time.Minute},
		{"silent after some work", limits, func(p *process, _ context.CancelFunc) {
			for range 3 {
				time.Sleep(50 * time.Second)
				p.touch()
			}
		}, StopIdle, 210 * time.Second},
		{"busy beyond the limit", limits, func(p *process, _ context.CancelFunc) {
			for range 200 {
				time.Sleep(30 * time.Second)
				p.touch()
			}
		}, StopTimeout, time.Hour},
		{"cancelled", limits, func(_ *process, cancel context.CancelFunc) {
			time.Sleep(time.Second)
			cancel()
		}, StopCanceled, time.Second},
		{"stays after its last word", limits, func(p *process, _ context.CancelFunc) {
			time.Sleep(55 * time.Second)
			p.markFinal()
		}, StopLinger, 65 * time.Second},
		{"cancelled after its last word", limits, func(p *process, cancel context.CancelFunc) {
			p.markFinal()
			time.Sleep(time.Second)
			cancel()
		}, StopLinger, time.Second},
		{"ends after its last word", limits, func(p *process, _ context.CancelFunc) {
			p.markFinal()
			time.Sleep(9 * time.Second)
			close(p.exited)
		}, StopNone, 9 * time.Second},
		{"stays when its work is done", signed(from(30 * time.Second)), func(*process, context.CancelFunc) {}, StopDone, 55 * time.Second},
		{"ends when its work is done", signed(from(0)), func(p *process, _ context.CancelFunc) {
			time.Sleep(28 * time.Second)
			close(p.exited)
		}, StopNone, 28 * time.Second},
		{"cancelled when its work is done", signed(from(0)), func(_ *process, cancel context.CancelFunc) {
			time.Sleep(28 * time.Second)
			cancel()
		}, StopDone, 28 * time.Second},
		{"its work is not done", signed(never), func(*process, context.CancelFunc) {}, StopIdle, time.Minute},
		{
			"done between the last look and the deadline",
			signed(from(51 * time.Second)),
			func(*process, context.CancelFunc) {}, StopDone, time.Minute,
		},
		{
			"silent for long enough",
			signed(func(silence time.Duration) bool { return silence >= 40*time.Second }),
			func(p *process, _ context.CancelFunc) {
				time.Sleep(20 * time.Second)
				p.touch()
			}, StopDone, 80 * time.Second,
		},
		{"no limits", Command{}, func(p *process, _ context.CancelFunc) {
			time.Sleep(1000 * time.Hour)
			close(p.exited)
		}, StopNone, 1000 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p := &process{active: make(chan struct{}, 1), final: make(chan struct{}), exited: make(chan struct{})}
				p.goroutines.Go(func() { tt.play(p, cancel) })
				begin := time.Now()
				if got := p.watch(ctx, tt.limits); got != tt.want {
					t.Errorf("watch = %q, want %q", got, tt.want)
				}
				if got := time.Since(begin); got != tt.after {
					t.Errorf("ended after %s, want %s", got, tt.after)
				}
				p.goroutines.Wait()
			})
		})
	}
}

func TestGrace(t *testing.T) {
	own := Command{Grace: time.Minute, TimeoutGrace: time.Hour, Done: &Completion{Grace: time.Second}}
	plain := Command{Grace: time.Minute, Done: &Completion{}}
	tests := []struct {
		name string
		c    Command
		cut  StopReason
		want time.Duration
	}{
		{"time limit", own, StopTimeout, time.Hour},
		{"sign", own, StopDone, time.Second},
		{"cancelled", own, StopCanceled, time.Minute},
		{"time limit without its own", plain, StopTimeout, time.Minute},
		{"sign without its own", plain, StopDone, time.Minute},
		{"default", Command{}, StopIdle, DefaultGrace},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.c.grace(tt.cut); got != tt.want {
				t.Errorf("grace = %s, want %s", got, tt.want)
			}
		})
	}
}
