package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// inside is an agent of this process, which notes when it is called and does the least that an agent
// does: it says a line and writes its result. It is safe for concurrent use.
type inside struct {
	works time.Duration // how long a call takes

	mu      sync.Mutex
	entered []moment // one for each call, in order
}

func (*inside) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "inside", Provider: &sdk.ProviderTraits{}}
}

func (a *inside) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	came := now()
	a.mu.Lock()
	a.entered = append(a.entered, came)
	a.mu.Unlock()
	if err := pass(ctx, a.works); err != nil {
		return sdk.ExecuteResult{}, err
	}
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "Did it.\n"})
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"did it"}`), 0o600)
}

// visit is a run of a session in an engine of this process.
type visit struct {
	entered []moment    // when the agent was called, for each iteration
	started []time.Time // when iteration_start had been committed, for each iteration
}

// iterations are the times in seconds from one call of the agent to the next.
func (v visit) iterations() []float64 {
	times := make([]float64, 0, len(v.entered))
	for i := 1; i < len(v.entered); i++ {
		times = append(times, v.entered[i].wall.Sub(v.entered[i-1].wall).Seconds())
	}
	return times
}

// computed are the seconds of processor time that this process took from one call of the agent to the next.
func (v visit) computed() []float64 {
	times := make([]float64, 0, len(v.entered))
	for i := 1; i < len(v.entered); i++ {
		times = append(times, (v.entered[i].cpu - v.entered[i-1].cpu).Seconds())
	}
	return times
}

// preparations are the times in seconds from the commit of iteration_start to the call of the agent:
// the inputs are collected, context.json is written, the prompt resolved.
func (v visit) preparations() []float64 {
	times := make([]float64, min(len(v.entered), len(v.started)))
	for i := range times {
		times[i] = v.entered[i].wall.Sub(v.started[i]).Seconds()
	}
	return times
}

// engine makes an engine of this process in the project's directory, where one agent works. The caller closes it.
func (b *bench) engine(p *ground.Project, agent sdk.Provider) (*engine.Engine, error) {
	config, err := b.Dir("config")
	if err != nil {
		return nil, err
	}
	return engine.NewEngine(engine.WithWorkDir(p.Dir), engine.WithConfigDir(config), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithProviderOverride("inside"), engine.WithProvider(agent))
}

// runInside runs the project's pipeline to its end in a new engine of this process, with an agent that takes no time.
func (b *bench) runInside(ctx context.Context, p *ground.Project, session string) (visit, error) {
	return b.runWith(ctx, p, session, &inside{})
}

func (b *bench) runWith(ctx context.Context, p *ground.Project, session string, agent *inside) (_ visit, err error) {
	eng, err := b.engine(p, agent)
	if err != nil {
		return visit{}, err
	}
	defer func() { err = errors.Join(err, eng.Close(context.WithoutCancel(ctx))) }()
	var started []time.Time
	result, err := eng.Run(ctx, engine.RunOptions{
		Pipeline: "bench", Session: session,
		Observe: func(u engine.Update) {
			if u.Event != nil && u.Event.Type == event.IterationStart {
				started = append(started, time.Now())
			}
		},
	})
	if err != nil {
		return visit{}, err
	}
	if !result.Success {
		return visit{}, fmt.Errorf("session %s ended as %s: %s", session, result.Status, result.Reason)
	}
	return visit{agent.entered, started}, nil
}
