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
	// Tries is the number of tries after the first try.
	Tries int
	// OnRetry is called before each wait. Required.
	OnRetry func(err error, try int, wait time.Duration)
}

// Reply is [Client.Reply], repeated after temporary failures: after 1, 2, 4, … seconds, or after the time that the service
// asks for.
func (r Retry) Reply(ctx context.Context, c Client, request Request, text func(string)) (Reply, error) {
	tries := 0
	steps := &retryPace{ExponentialBackOff: backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 2, MaxInterval: MaxWait}}
	try := func() (Reply, error) {
		reply, err := c.Reply(ctx, request, text)
		var failed *Failure
		if !errors.As(err, &failed) || !failed.Transient() || failed.wait() > MaxWait {
			return reply, backoff.Permanent(err)
		}
		tries++
		steps.requested = failed.wait()
		return reply, err
	}
	return backoff.Retry(ctx, try, backoff.WithBackOff(steps), backoff.WithMaxElapsedTime(0), backoff.WithMaxTries(uint(r.Tries)+1), //nolint:gosec // a small number
		backoff.WithNotify(func(err error, wait time.Duration) { r.OnRetry(err, tries, wait) }))
}

// wait returns the time that the service asked for, 0 for none.
func (f *Failure) wait() time.Duration {
	return time.Duration(f.Err.RetryAfterSeconds * float64(time.Second))
}

// retryPace waits as long as the service asked for, else a time that doubles.
type retryPace struct {
	backoff.ExponentialBackOff
	requested time.Duration
}

// NextBackOff implements [backoff.BackOff].
func (p *retryPace) NextBackOff() time.Duration {
	wait := p.ExponentialBackOff.NextBackOff()
	return cmp.Or(p.requested, wait)
}
