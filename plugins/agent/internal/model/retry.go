package model

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// MaxWait is the longest wait for a service within a turn. If the service asks for more, the request fails and the caller
// of the attempt decides on a retry.
const MaxWait = time.Minute

// Retry configures the repeats of a request.
type Retry struct {
	// Tries is the number of tries after the first.
	Tries int
	// OnRetry is called before each wait. Optional.
	OnRetry func(err error, try int, wait time.Duration)
}

// WithRetry returns a client that repeats requests after temporary failures: after 1, 2, 4, … seconds, or after the time
// that the service asks for.
func WithRetry(c Client, r Retry) Client { return &retryingClient{c, r} }

type retryingClient struct {
	client Client
	retry  Retry
}

// Reply implements [Client].
func (p *retryingClient) Reply(ctx context.Context, r Request, text func(string)) (Reply, error) {
	tries := 0
	steps := &retryPace{steps: backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 2, MaxInterval: MaxWait}}
	request := func() (Reply, error) {
		reply, err := p.client.Reply(ctx, r, text)
		if err == nil {
			return reply, nil
		}
		var failed *Failure
		if !errors.As(err, &failed) || !failed.Transient() {
			return reply, backoff.Permanent(err)
		}
		steps.requested = time.Duration(failed.Err.RetryAfterSeconds * float64(time.Second))
		if tries++; tries > p.retry.Tries || steps.requested > MaxWait {
			return reply, backoff.Permanent(err)
		}
		return reply, err
	}
	notify := func(err error, wait time.Duration) {
		if p.retry.OnRetry != nil {
			p.retry.OnRetry(err, tries, wait)
		}
	}
	return backoff.Retry(ctx, request, backoff.WithBackOff(steps), backoff.WithMaxElapsedTime(0), backoff.WithNotify(notify))
}

// retryPace waits as long as the service asked for, else a time that doubles.
type retryPace struct {
	steps     backoff.ExponentialBackOff
	requested time.Duration
}

// NextBackOff implements [backoff.BackOff].
func (p *retryPace) NextBackOff() time.Duration {
	wait := p.steps.NextBackOff()
	return cmp.Or(p.requested, wait)
}

// Reset implements [backoff.BackOff].
func (p *retryPace) Reset() { p.steps.Reset() }
