package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// localAgent is an agent in this process that records the times of its calls. A call writes one line and a result. The
// agent is safe for concurrent use.
type localAgent struct {
	works time.Duration // duration of a call

	mu      sync.Mutex
	entered []moment // one per call, in order
}

func (*localAgent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "inside", Provider: &sdk.ProviderTraits{}}
}

func (a *localAgent) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
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
	entered []moment    // time of the agent's call, per iteration
	started []time.Time // time of the commit of iteration_start, per iteration
}

// iterations returns the seconds from one call of the agent to the next.
func (v visit) iterations() []float64 {
	times := make([]float64, 0, len(v.entered))
	for i := 1; i < len(v.entered); i++ {
		times = append(times, v.entered[i].elapsed.Sub(v.entered[i-1].elapsed).Seconds())
	}
	return times
}

// computed returns this process's processor seconds from one call of the agent to the next.
func (v visit) computed() []float64 {
	times := make([]float64, 0, len(v.entered))
	for i := 1; i < len(v.entered); i++ {
		times = append(times, (v.entered[i].cpu - v.entered[i-1].cpu).Seconds())
	}
	return times
}

// preparations returns the seconds from the commit of iteration_start to the call of the agent. In
// this time inputs are collected, context.json is written and the prompt is resolved.
func (v visit) preparations() []float64 {
	times := make([]float64, min(len(v.entered), len(v.started)))
	for i := range times {
		times[i] = v.entered[i].elapsed.Sub(v.started[i]).Seconds()
	}
	return times
}

// engine returns an engine of this process in the project's directory with one agent. The caller
// closes it.
func (b *bench) engine(p *ground.Project, agent sdk.Provider) (*engine.Engine, error) {
	config, err := b.Dir("config")
	if err != nil {
		return nil, err
	}
	return engine.NewEngine(engine.WithWorkDir(p.Dir), engine.WithConfigDir(config), engine.WithCacheDir("-"),
		engine.WithExecutable("-"), engine.WithProviderOverride("inside"), engine.WithProvider(agent))
}

// runInside runs the project's pipeline to its end in a new engine of this process, with an instant
// agent.
func (b *bench) runInside(ctx context.Context, p *ground.Project, session string) (visit, error) {
	return b.runWith(ctx, p, session, &localAgent{})
}

func (b *bench) runWith(ctx context.Context, p *ground.Project, session string, agent *localAgent) (_ visit, err error) {
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

// moment is a point in time on two clocks.
type moment struct {
	elapsed time.Time
	cpu     time.Duration // processor time of this process
}

func now() moment {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails only for unknown arguments
	return moment{time.Now(), time.Duration(u.Utime.Nano() + u.Stime.Nano())}
}
