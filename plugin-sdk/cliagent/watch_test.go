package cliagent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWatch(t *testing.T) {
	limits := Command{Timeout: time.Hour, IdleTimeout: time.Minute, Linger: 10 * time.Second}
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
				p.owned.Go(func() { tt.play(p, cancel) })
				begin := time.Now()
				if got := p.watch(ctx, tt.limits); got != tt.want {
					t.Errorf("watch = %q, want %q", got, tt.want)
				}
				if got := time.Since(begin); got != tt.after {
					t.Errorf("ended after %s, want %s", got, tt.after)
				}
				p.owned.Wait()
			})
		})
	}
}
