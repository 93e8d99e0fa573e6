package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/past"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/engine"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// usualResult is a result of usual size. state.json keeps the result of every iteration.
const usualResult = `{"summary":"Split the parser from the reader, moved its tests along and made the error name the line.",` +
	`"work":{"items_completed":["parser"],"files_touched":["src/parse.go","src/read.go","src/parse_test.go"]}}`

// steppedSession is a session in an engine of this process whose agent, from one iteration on, works only on
// request. Between requests its kernel is idle.
type steppedSession struct {
	from     int // the first iteration that waits for a request
	came     chan moment
	proceed  chan struct{}
	returned moment // when the agent last returned; read only after a receive from came
	// elapsed and cpu are the seconds of the kernel from the end of one call of the agent to the start of the next:
	// elapsed time and processor time.
	elapsed, cpu sample.Series

	stop    context.CancelFunc
	running sync.WaitGroup
	ended   chan error // buffered
}

// pacedSession is the name of all these sessions; each has its own project.
const pacedSession = "paced"

// pace starts a session of iterations and returns when its agent has the call of iteration from.
func (b *bench) pace(ctx context.Context, from, iterations int) (*steppedSession, error) {
	p, err := b.Project(ground.Loop("inside", iterations))
	if err != nil {
		return nil, err
	}
	return b.pacedFrom(ctx, p, from, runPaced)
}

func runPaced(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
	return e.Run(ctx, engine.RunOptions{Pipeline: "bench", Session: pacedSession})
}

// pacePast is pace for a session that gets the earlier iterations from [past.Give] and is resumed.
func (b *bench) pacePast(ctx context.Context, from, iterations int) (*steppedSession, error) {
	p, err := b.Project(ground.Loop("inside", iterations))
	if err != nil {
		return nil, err
	}
	cut, err := b.pacedFrom(ctx, p, past.Cut, runPaced)
	if err != nil {
		return nil, err
	}
	cut.close()
	if err := past.Give(p.Session(pacedSession), from-1); err != nil {
		return nil, err
	}
	eng, err := b.engine(p, &localAgent{})
	if err != nil {
		return nil, err
	}
	_, err = eng.Verify(ctx, pacedSession, true)
	if err := errors.Join(err, eng.Close(ctx)); err != nil {
		return nil, err
	}
	return b.pacedFrom(ctx, p, from, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
		return e.Resume(ctx, engine.ResumeOptions{Session: pacedSession})
	})
}

// pacedFrom runs or resumes a session in an engine and returns when its agent has the call of
// iteration from.
func (b *bench) pacedFrom(ctx context.Context, p *ground.Project, from int, run func(context.Context, *engine.Engine) (*engine.Result, error)) (*steppedSession, error) {
	s := &steppedSession{from: from, came: make(chan moment), proceed: make(chan struct{}), ended: make(chan error, 1)}
	eng, err := b.engine(p, s)
	if err != nil {
		return nil, err
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.running.Go(func() {
		_, err := run(ctx, eng)
		s.ended <- errors.Join(err, eng.Close(context.WithoutCancel(ctx)))
	})
	if _, err := s.called(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (*steppedSession) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "inside", Provider: &sdk.ProviderTraits{}}
}

func (s *steppedSession) Execute(ctx context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	if came := now(); req.Iteration >= s.from {
		select {
		case s.came <- came:
		case <-ctx.Done():
			return sdk.ExecuteResult{}, context.Cause(ctx)
		}
		select {
		case <-s.proceed:
		case <-ctx.Done():
			return sdk.ExecuteResult{}, context.Cause(ctx)
		}
	}
	err := os.WriteFile(req.Paths.Result, []byte(usualResult), 0o600)
	s.returned = now()
	return sdk.ExecuteResult{}, err
}

// called waits for the next call of the agent.
func (s *steppedSession) called() (moment, error) {
	select {
	case m := <-s.came:
		return m, nil
	case err := <-s.ended:
		return moment{}, errors.Join(fmt.Errorf("the session ended before iteration %d", s.from), err)
	}
}

// measure runs one iteration and appends its times to elapsed and cpu.
func (s *steppedSession) measure() error {
	select {
	case s.proceed <- struct{}{}:
	case err := <-s.ended:
		return errors.Join(fmt.Errorf("the session ended within iteration %d", s.from), err)
	}
	came, err := s.called()
	s.elapsed = append(s.elapsed, came.elapsed.Sub(s.returned.elapsed).Seconds())
	s.cpu = append(s.cpu, (came.cpu - s.returned.cpu).Seconds())
	return err
}

func (s *steppedSession) close() {
	s.stop()
	s.running.Wait()
}
