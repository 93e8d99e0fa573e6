package mock

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// performance is the execution of one reply for one request.
type performance struct {
	process  process
	req      sdk.ExecuteRequest
	exchange sdk.Exchange
	script   script
	reply    Reply
	started  time.Time
	output   strings.Builder
}

// run plays the reply. After an error the result holds the output so far.
func (p *performance) run(ctx context.Context) (sdk.ExecuteResult, error) {
	steps := []func(context.Context) error{
		p.faultAt(atStart), p.checkBudget, p.startSpawn, p.applyDelay, p.sendDiagnostics, p.makeToolCalls, p.sendOutput,
		p.faultAt(atBeforeResult), p.writeFiles, p.faultAt(atAfterResult),
	}
	for _, step := range steps {
		if ctx.Err() != nil && !p.reply.IgnoreCancel {
			return p.result(), cancelled(ctx)
		}
		if err := step(ctx); err != nil {
			return p.result(), err
		}
	}
	return p.finish()
}

// faultAt returns a step that crashes or hangs if the reply has a fault at that moment.
func (p *performance) faultAt(moment string) func(context.Context) error {
	return func(ctx context.Context) error {
		if cmp.Or(p.reply.At, atBeforeResult) != moment {
			return nil
		}
		if p.reply.Hang {
			return p.pause(ctx, forever)
		}
		return p.process.crash(p.reply.Crash, p.reply.ExitCode)
	}
}

func (p *performance) startSpawn(context.Context) error {
	return p.reply.Spawn.start(p.req.WorkDir, p.req.Paths.Result)
}

// applyDelay waits for the delay of the reply or of the configuration.
func (p *performance) applyDelay(ctx context.Context) error {
	d := p.script.delay
	if p.reply.DelayMS != nil {
		d = milliseconds(*p.reply.DelayMS)
	}
	return p.pause(ctx, d)
}

// pause waits for d. If d exceeds the idle timeout of the request, it waits for that time and returns provider_timeout.
func (p *performance) pause(ctx context.Context, d time.Duration) error {
	idle := p.req.IdleTimeout
	if p.reply.IgnoreCancel || idle == 0 || d <= idle {
		return p.reply.pause(ctx, d)
	}
	if err := p.reply.pause(ctx, idle); err != nil {
		return err
	}
	return failure.New(failure.ProviderTimeout, "mock: silent for longer than %s", idle)
}

// sendDiagnostics sends diagnostics, progress messages, usage and the log line.
func (p *performance) sendDiagnostics(context.Context) error {
	if p.reply.Stderr != "" {
		p.exchange.Output(sdk.OutputChunk{Stream: sdk.StreamStderr, Text: p.reply.Stderr})
	}
	for i, message := range p.reply.Messages {
		p.exchange.Progress(sdk.Progress{Message: message, Turn: i + 1})
	}
	if p.reply.Usage != nil {
		p.exchange.Usage(*p.reply.Usage)
	}
	return p.process.log(p.reply.Log)
}

// sendOutput sends the chunks of the output, with the configured delay between them.
func (p *performance) sendOutput(ctx context.Context) error {
	chunks, err := p.outputChunks()
	if err != nil {
		return err
	}
	for i, chunk := range chunks {
		if i > 0 {
			if err := p.pause(ctx, milliseconds(p.reply.ChunkDelayMS)); err != nil {
				return err
			}
		}
		p.exchange.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: chunk})
		p.output.WriteString(chunk)
	}
	return nil
}

func (p *performance) outputChunks() ([]string, error) {
	if p.reply.OutputChunks != nil {
		return p.reply.OutputChunks, nil
	}
	var text string
	if p.reply.Output != nil {
		text = *p.reply.Output
	} else {
		var err error
		if text, err = p.script.fixtures.readText(p.req.Iteration); err != nil {
			return nil, err
		}
	}
	if text == "" {
		return nil, nil
	}
	return []string{strings.Repeat(text, max(p.reply.OutputRepeat, 1))}, nil
}

// checkBudget fails an attempt that would exceed its budget, before it consumes anything.
func (p *performance) checkBudget(context.Context) error {
	b, u := p.req.Budget, p.reply.Usage
	if b == nil || u == nil {
		return nil
	}
	var exceeded error
	tokens := valueOrZero(u.InputTokens) + valueOrZero(u.OutputTokens) + valueOrZero(u.CacheWriteTokens)
	switch cost := valueOrZero(u.CostUSD); {
	case b.MaxUSD != nil && cost > *b.MaxUSD:
		exceeded = failure.New(failure.BudgetExceeded, "mock: the attempt would cost %g USD, %g are allowed", cost, *b.MaxUSD)
	case b.MaxTokens != nil && tokens > *b.MaxTokens:
		exceeded = failure.New(failure.BudgetExceeded, "mock: the attempt would use %d tokens, %d are allowed", tokens, *b.MaxTokens)
	default:
		return nil
	}
	p.reply.Usage = &sdk.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)}
	p.reply.Outcome = sdk.OutcomeFailed
	return exceeded
}

// valueOrZero returns the value of a pointer, 0 for nil.
func valueOrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// artifactFile is the name of an artifact beside the result.
const artifactFile = "artifact.yaml"

func writeFile(path string, text []byte) error {
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("mock: %w", err)
	}
	return nil
}

func missingPathError(file string) error {
	return failure.New(failure.ConfigInvalid, "mock: the reply has %s, but the request has no path for it", file)
}
