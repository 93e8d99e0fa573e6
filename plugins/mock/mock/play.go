package mock

import (
	"context"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// performance is the performance of one reply.
type performance struct {
	process  process
	req      sdk.ExecuteRequest
	exchange sdk.Exchange
	script   script
	reply    Reply
	started  time.Time
	output   strings.Builder
}

func newPerformance(p process, req sdk.ExecuteRequest, x sdk.Exchange, s script, reply Reply) *performance {
	return &performance{process: p, req: req, exchange: x, script: s, reply: reply, started: time.Now()}
}

// run performs the reply from its beginning to its end. Whatever was said until an error is part of
// the result.
func (p *performance) run(ctx context.Context) (sdk.ExecuteResult, error) {
	acts := []func(context.Context) error{
		p.faultAt(atStart), p.checkBudget, p.startSpawn, p.applyDelay, p.sendDiagnostics, p.makeToolCalls, p.sendOutput,
		p.faultAt(atBeforeResult), p.writeFiles, p.faultAt(atAfterResult),
	}
	for _, act := range acts {
		if ctx.Err() != nil && !p.reply.IgnoreCancel {
			return p.result(), cancelled(ctx)
		}
		if err := act(ctx); err != nil {
			return p.result(), err
		}
	}
	return p.finish()
}

// faultAt crashes or hangs if this is the moment for it.
func (p *performance) faultAt(moment string) func(context.Context) error {
	return func(ctx context.Context) error {
		at := p.reply.At
		if at == "" {
			at = atBeforeResult
		}
		if at != moment {
			return nil
		}
		if p.reply.Hang {
			return p.hang(ctx)
		}
		return p.process.crash(p.reply.Crash, p.reply.ExitCode)
	}
}

func (p *performance) startSpawn(context.Context) error {
	return p.reply.Spawn.start(p.req.WorkDir, p.req.Paths.Result)
}

// applyDelay takes the time that the agent takes.
func (p *performance) applyDelay(ctx context.Context) error {
	d := p.script.delay
	if p.reply.DelayMS != nil {
		d = milliseconds(*p.reply.DelayMS)
	}
	return p.pause(ctx, d)
}

// pause is a silence of the agent, which the request may limit.
func (p *performance) pause(ctx context.Context, d time.Duration) error {
	idle := p.req.IdleTimeout
	if p.reply.IgnoreCancel || idle == 0 || d <= idle {
		return p.reply.pause(ctx, d)
	}
	if err := p.reply.pause(ctx, idle); err != nil {
		return err
	}
	return p.silenceError()
}

func (p *performance) hang(ctx context.Context) error {
	idle := p.req.IdleTimeout
	if p.reply.IgnoreCancel || idle == 0 {
		return p.reply.hang(ctx)
	}
	if err := p.reply.pause(ctx, idle); err != nil {
		return err
	}
	return p.silenceError()
}

func (p *performance) silenceError() error {
	return failure.New(failure.ProviderTimeout, "mock: silent for longer than %s", p.req.IdleTimeout)
}

// sendDiagnostics shows what stands beside the output: diagnostics, logs, the live view, usage.
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

// sendOutput says the output.
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
