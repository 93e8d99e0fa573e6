package model

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// failing returns the listed errors, then a reply.
type failing struct {
	errs     []error
	requests []time.Time
}

func (f *failing) Reply(context.Context, Request, func(string)) (Reply, error) {
	f.requests = append(f.requests, time.Now())
	if n := len(f.requests); n <= len(f.errs) {
		return Reply{}, f.errs[n-1]
	}
	return Reply{Text: "done"}, nil
}

func busy(o sdk.Outcome, retryable bool, wait float64) error {
	err := failure.New(failure.ProviderFailed, "busy")
	err.Retryable, err.RetryAfterSeconds = retryable, wait
	return &Failure{Outcome: o, Err: err}
}

func TestRetry(t *testing.T) { // U178, K26
	down := busy(sdk.OutcomeInfrastructure, true, 0)
	tests := []struct {
		name  string
		errs  []error
		tries int
		waits []int // seconds
		fails bool
	}{
		{"goes well", nil, 3, nil, false},
		{"a moment", []error{down, down, down}, 3, []int{1, 2, 4}, false},
		{"too often", []error{down, down, down, down}, 3, []int{1, 2, 4}, true},
		{"burst", []error{down, down, down, down, down}, 5, []int{1, 2, 4, 8, 16}, false},
		{"the wait of the service", []error{busy(sdk.OutcomeRateLimited, true, 30), down}, 3, []int{30, 2}, false},
		{"more than a minute", []error{busy(sdk.OutcomeRateLimited, true, 3600)}, 3, nil, true},
		{"nothing that waiting helps", []error{busy(sdk.OutcomeNeedsPerson, false, 0)}, 3, nil, true},
		{"not of a service", []error{errors.New("odd")}, 3, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &failing{errs: tt.errs}
				var reported []int
				_, err := Retry{Tries: tt.tries, OnRetry: func(_ error, try int, wait time.Duration) {
					if try != len(reported)+1 {
						t.Errorf("try %d reported as %d", len(reported)+1, try)
					}
					reported = append(reported, int(wait.Seconds()))
				}}.Reply(t.Context(), f, Request{}, nil)
				if (err != nil) != tt.fails {
					t.Errorf("error %v", err)
				}
				var waited []int
				for i := 1; i < len(f.requests); i++ {
					waited = append(waited, int(f.requests[i].Sub(f.requests[i-1]).Seconds()))
				}
				if diff := cmp.Diff(tt.waits, waited); diff != "" {
					t.Errorf("waited (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.waits, reported); diff != "" {
					t.Errorf("reported (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRetryIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("over")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(500*time.Millisecond, func() { cancel(over) })
		_, err := Retry{Tries: 3, OnRetry: func(error, int, time.Duration) {}}.Reply(ctx, &failing{errs: []error{busy(sdk.OutcomeInfrastructure, true, 0)}}, Request{}, nil)
		if !errors.Is(err, over) {
			t.Errorf("got %v", err)
		}
	})
}
