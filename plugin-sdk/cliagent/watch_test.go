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
		c.Done = &Sign{Holds: holds, Every: 25 * time.Second, Linger: 5 * time.Second}
		return c
	}
	// from returns a sign that holds after d, on the clock of the test's bubble.
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
		want   Cut
		after  time.Duration
	}{
		{"ends by itself", limits, func(p *process, _ context.CancelFunc) {
			time.Sleep(time.Second)
			close(p.exited)
		}, CutNone, time.Second},
		{"silent from the beginning", limits, func(*process, context.CancelFunc) {}, CutIdle, time.Minute},
		{"silent after some work", limits, func(p *process, _ context.CancelFunc) {
			for range 3 {
				time.Sleep(50 * time.Second)
				p.touch()
			}
		}, CutIdle, 210 * time.Second},
		{"busy beyond the limit", limits, func(p *process, _ context.CancelFunc) {
			for range 200 {
				time.Sleep(30 * time.Second)
				p.touch()
			}
		}, CutTimeout, time.Hour},
		{"cancelled", limits, func(_ *process, cancel context.CancelFunc) {
			time.Sleep(time.Second)
			cancel()
		}, CutCanceled, time.Second},
		{"stays after its last word", limits, func(p *process, _ context.CancelFunc) {
			time.Sleep(55 * time.Second)
			p.markFinal()
		}, CutLinger, 65 * time.Second},
		{"cancelled after its last word", limits, func(p *process, cancel context.CancelFunc) {
			p.markFinal()
			time.Sleep(time.Second)
			cancel()
		}, CutLinger, time.Second},
		{"ends after its last word", limits, func(p *process, _ context.CancelFunc) {
			p.markFinal()
			time.Sleep(9 * time.Second)
			close(p.exited)
		}, CutNone, 9 * time.Second},
		{"stays when its work is done", signed(from(30 * time.Second)), func(*process, context.CancelFunc) {}, CutDone, 55 * time.Second},
		{"ends when its work is done", signed(from(0)), func(p *process, _ context.CancelFunc) {
			time.Sleep(28 * time.Second)
			close(p.exited)
		}, CutNone, 28 * time.Second},
		{"cancelled when its work is done", signed(from(0)), func(_ *process, cancel context.CancelFunc) {
			time.Sleep(28 * time.Second)
			cancel()
		}, CutDone, 28 * time.Second},
		{"its work is not done", signed(never), func(*process, context.CancelFunc) {}, CutIdle, time.Minute},
		{
			"done between the last look and the deadline",
			signed(from(51 * time.Second)),
			func(*process, context.CancelFunc) {}, CutDone, time.Minute,
		},
		{
			"silent for long enough",
			signed(func(silence time.Duration) bool { return silence >= 40*time.Second }),
			func(p *process, _ context.CancelFunc) {
				time.Sleep(20 * time.Second)
				p.touch()
			}, CutDone, 80 * time.Second,
		},
		{"no limits", Command{}, func(p *process, _ context.CancelFunc) {
			time.Sleep(1000 * time.Hour)
			close(p.exited)
		}, CutNone, 1000 * time.Hour},
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
	own := Command{Grace: time.Minute, TimeoutGrace: time.Hour, Done: &Sign{Grace: time.Second}}
	plain := Command{Grace: time.Minute, Done: &Sign{}}
	tests := []struct {
		name string
		c    Command
		cut  Cut
		want time.Duration
	}{
		{"time limit", own, CutTimeout, time.Hour},
		{"sign", own, CutDone, time.Second},
		{"cancelled", own, CutCanceled, time.Minute},
		{"time limit without its own", plain, CutTimeout, time.Minute},
		{"sign without its own", plain, CutDone, time.Minute},
		{"default", Command{}, CutIdle, DefaultGrace},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.c.grace(tt.cut); got != tt.want {
				t.Errorf("grace = %s, want %s", got, tt.want)
			}
		})
	}
}
