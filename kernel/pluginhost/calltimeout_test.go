package pluginhost_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
)

var errLate = errors.New("late")

// Pauses, which may overlap, do not count.
func TestPausesDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := pluginhost.WithCallTimeout(t.Context(), time.Minute, errLate)
		defer cancel()
		began := time.Now()
		time.Sleep(40 * time.Second)
		resume, again := pluginhost.PauseCallTimeout(ctx), pluginhost.PauseCallTimeout(ctx)
		time.Sleep(time.Hour)
		resume()
		resume() // a second time is nothing
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatalf("ended during a pause: %v", context.Cause(ctx))
		}
		again()
		<-ctx.Done()
		if took := time.Since(began); took != 2*time.Hour+time.Minute || !errors.Is(context.Cause(ctx), errLate) {
			t.Errorf("ended after %s: %v", took, context.Cause(ctx))
		}
	})
}

func TestCancelEndsTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := pluginhost.WithCallTimeout(t.Context(), time.Minute, errLate)
		cancel()
		time.Sleep(time.Hour)
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
	})
}

// A pause needs no deadline.
func TestPauseWithoutDeadline(t *testing.T) {
	pluginhost.PauseCallTimeout(t.Context())()
}
