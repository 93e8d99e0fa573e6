package model

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// MaxWait is the longest time that is waited for a service inside a turn. One that asks for more is left to whoever
// makes the attempt again.
const MaxWait = time.Minute

// Retry says how often a request is made again, and who hears of it.
type Retry struct {
	// Tries are those after the first.
	Tries int
	// Told is called before each wait. Optional.
	Told func(err error, try int, wait time.Duration)
}

// Patient asks again what failed for a moment: after 1, 2, 4, … seconds, or after what the service asks for.
func Patient(c Client, r Retry) Client { return &patient{c, r} }

type patient struct {
	client Client
	retry  Retry
}

// Reply implements [Client].
func (p *patient) Reply(ctx context.Context, r Request, text func(string)) (Reply, error) {
	tries := 0
	steps := &pace{steps: backoff.ExponentialBackOff{InitialInterval: time.Second, Multiplier: 2, MaxInterval: MaxWait}}
	ask := func() (Reply, error) {
		reply, err := p.client.Reply(ctx, r, text)
		if err == nil {
			return reply, nil
		}
		var failed *Failure
		if !errors.As(err, &failed) || !failed.Transient() {
			return reply, backoff.Permanent(err)
		}
		steps.asked = time.Duration(failed.Err.RetryAfterSeconds * float64(time.Second))
		if tries++; tries > p.retry.Tries || steps.asked > MaxWait {
			return reply, backoff.Permanent(err)
		}
		return reply, err
	}
	told := func(err error, wait time.Duration) {
		if p.retry.Told != nil {
			p.retry.Told(err, tries, wait)
		}
	}
	return backoff.Retry(ctx, ask, backoff.WithBackOff(steps), backoff.WithMaxElapsedTime(0), backoff.WithNotify(told))
}

// pace waits as long as the service asked for, else a time that doubles.
type pace struct {
	steps backoff.ExponentialBackOff
	asked time.Duration
}

// NextBackOff implements [backoff.BackOff].
func (p *pace) NextBackOff() time.Duration {
	wait := p.steps.NextBackOff()
	return cmp.Or(p.asked, wait)
}

// Reset implements [backoff.BackOff].
func (p *pace) Reset() { p.steps.Reset() }
