package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"
)

const (
	// attemptLimit is the time limit of an attempt that must succeed; models may think for minutes.
	attemptLimit = 5 * time.Minute
	// attemptGrace is the grace of all attempts.
	attemptGrace = 2 * time.Second
	// workTime is the maximum wait for the first output of slow work.
	workTime = 300 * time.Millisecond
	// attemptVariable is the environment variable that marks the processes of an attempt.
	attemptVariable = "AGENT_PIPELINES_VERIFY_ATTEMPT"
)

// request returns the request of an attempt as the kernel would make it, with its own directories.
func (t *trial) request(a Attempt) (sdk.ExecuteRequest, error) {
	n := t.attempts.Add(1)
	dir := filepath.Join(t.dir, fmt.Sprintf("attempt-%d", n))
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if err := t.opts.Cases.writeFiles(work); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	return sdk.ExecuteRequest{
		Key: fmt.Sprintf("attempt:1/v1/r1//i%d#1", n), Epoch: 1,
		Session: "verify", Node: "node", Stage: "stage", Iteration: 1, Attempt: 1, Visit: 1,
		Purpose: sdk.PurposeWork, Prompt: a.Prompt, Model: a.Model, Config: a.Config, Environment: maps.Clone(a.Environment),
		Run: a.Run, Input: a.Input,
		WorkDir: work, Grace: attemptGrace,
		Paths: sdk.Paths{
			Context: filepath.Join(dir, "context.json"), Status: filepath.Join(dir, "status.json"),
			Result: filepath.Join(dir, "result.json"), Progress: filepath.Join(dir, "progress.md"),
			Output: filepath.Join(dir, "output.md"), Attempt: dir,
		},
	}, nil
}

// performance is the record of one attempt.
type performance struct {
	record.Record
	result sdk.ExecuteResult
	usage  *sdk.Usage
	saved  []savepoint
}

// savepoint is a checkpoint and the number of gated calls requested before it.
type savepoint struct {
	checkpoint sdk.Checkpoint
	calls      int
}

// perform runs an attempt to its end. otherwise is the verdict on every gated call; its zero value
// means run.
func (t *trial) perform(ctx context.Context, s *subprocess.Session, c sdk.Component, a Attempt, resume *sdk.Resume, otherwise sdk.Verdict) (performance, error) {
	request, err := t.request(a)
	if err != nil {
		return performance{}, err
	}
	request.Resume = resume
	ctx, cancel := subprocess.WithTimeout(ctx, attemptLimit)
	defer cancel()
	p := performance{}
	x := &record.Exchange{Default: otherwise}
	x.OnCheckpoint = func(saved sdk.Checkpoint) error {
		p.saved = append(p.saved, savepoint{saved, len(x.Record().Calls)})
		return nil
	}
	p.result, err = s.Client.Provider(c).Execute(ctx, request, x)
	p.Record = x.Record()
	p.usage = p.result.Usage
	if reports := p.Usage; p.usage == nil && len(reports) > 0 {
		p.usage = &reports[len(reports)-1]
	}
	return p, err
}

// output returns the text that the kernel would keep.
func (p performance) output() string { return cmp.Or(p.result.Output, p.Text(sdk.StreamText)) }

// fault describes why an attempt that must succeed did not, or does not report success
// correctly; "" means none.
func (p performance) fault(err error) string {
	switch {
	case err != nil:
		return subprocess.Shorten(err.Error())
	case cmp.Or(p.result.Outcome, sdk.OutcomeSucceeded) != sdk.OutcomeSucceeded:
		return fmt.Sprintf("outcome %s", p.result.Outcome)
	case p.result.Error != nil:
		return "a success with an error: " + subprocess.Shorten(p.result.Error.Error())
	case p.output() == "":
		return "a success without any output; an attempt without text has outcome " + string(sdk.OutcomeEmpty)
	}
	return ""
}

// attemptOnce runs an attempt that must succeed.
func (t *trial) attemptOnce(ctx context.Context, s *subprocess.Session, c sdk.Component, a Attempt) error {
	p, err := t.perform(ctx, s, c, a, nil, sdk.Verdict{})
	if why := p.fault(err); why != "" {
		return errors.New(why)
	}
	return nil
}

func checkSuccess(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	cases := t.opts.Cases.Providers[c.Name]
	p, err := t.perform(ctx, s, c, *cases.Normal, nil, sdk.Verdict{})
	if failure.KindOf(err) == failure.ProviderCrashed {
		return fail("catch errors, and answer with a result", "%s", explain(ctx, s, err))
	}
	if why := p.fault(err); why != "" {
		return fail("send a result with outcome succeeded and the output", "%s", why)
	}
	return pass("%d bytes of output: %s", len(p.output()), subprocess.Shorten(p.output()))
}

// checkHonest checks that an agent that exits 0 without any work does not count as a success.
func checkHonest(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	cases := t.opts.Cases.Providers[c.Name]
	p, err := t.perform(ctx, s, c, *cases.NoWork, nil, sdk.Verdict{})
	if failure.KindOf(err) == failure.ProviderCrashed && s.Alive(ctx) != nil {
		return fail("catch errors, and answer with a result", "%s", explain(ctx, s, err))
	}
	if claim := claimsSuccess(p.result, err); claim != "" {
		return fail("report outcome empty if the agent wrote and did nothing, whatever its exit code", "%s", claim)
	}
	return pass("outcome %s", cmp.Or(string(p.result.Outcome), "failed"))
}

// claimsSuccess describes an attempt that reports success; "" means that it does not.
func claimsSuccess(result sdk.ExecuteResult, err error) string {
	if err != nil || result.Error != nil || cmp.Or(result.Outcome, sdk.OutcomeSucceeded) != sdk.OutcomeSucceeded {
		return ""
	}
	return fmt.Sprintf("it claims success, with %d bytes of output and no error", len(result.Output))
}

// running is a slow attempt in progress.
type running struct {
	mark   string // the attempt's entry in the environment of its child processes
	cancel context.CancelFunc
	ended  chan struct{}
	begun  chan struct{} // holds a token after the first output
	result sdk.ExecuteResult
	err    error
}

// begin starts a slow attempt and waits for its first output, at most [workTime]. The caller stops
// the attempt.
func (t *trial) begin(ctx context.Context, s *subprocess.Session, c sdk.Component, a Attempt, limit time.Duration) (*running, error) {
	request, err := t.request(a)
	if err != nil {
		return nil, err
	}
	if request.Environment == nil {
		request.Environment = map[string]string{}
	}
	marker := subprocess.NewMarker()
	request.Environment[attemptVariable] = marker
	request.Timeout = limit
	r := launch(ctx, s, func(ctx context.Context, r *running) {
		x := &record.Exchange{OnOutput: func(sdk.OutputChunk) {
			select {
			case r.begun <- struct{}{}:
			default:
			}
		}}
		r.result, r.err = s.Client.Provider(c).Execute(ctx, request, x)
	})
	r.mark = attemptVariable + "=" + marker
	return r, nil
}

// launch starts slow work and waits for its first output, at most [workTime]. The caller stops the
// work.
func launch(ctx context.Context, s *subprocess.Session, work func(context.Context, *running)) *running {
	ctx, cancel := context.WithCancel(ctx)
	r := &running{cancel: cancel, ended: make(chan struct{}), begun: make(chan struct{}, 1)}
	s.Work.Go(func() {
		defer close(r.ended)
		work(ctx, r)
	})
	select {
	case <-r.begun:
	case <-r.ended:
	case <-time.After(workTime):
	}
	return r
}

// hasEnded reports whether the attempt has ended.
func (r *running) hasEnded() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// stop cancels the attempt and waits for its end. The client limits the wait.
func (r *running) stop() {
	r.cancel()
	<-r.ended
}

// trySlow begins the slow case and returns the finding of check, which observes the running attempt.
func (t *trial) trySlow(ctx context.Context, s *subprocess.Session, c sdk.Component, limit time.Duration, check func(*running) finding) finding {
	r, err := t.begin(ctx, s, c, *t.opts.Cases.Providers[c.Name].Slow, limit)
	if err != nil {
		return noProcess(err)
	}
	defer r.stop()
	if !r.hasEnded() {
		return check(r)
	}
	how := "it ended"
	if r.err != nil {
		how += ": " + subprocess.Shorten(r.err.Error())
	}
	return skip("a case slow that does not end within a minute", "%s", how)
}

func checkCancel(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "end the processes of the attempt when cancel comes, and send a result within grace_ms"
	return t.trySlow(ctx, s, c, 0, func(r *running) finding {
		begun := time.Now()
		r.cancel()
		select {
		case <-r.ended:
		case <-time.After(attemptGrace + subprocess.Slack):
			return fail(do, "it still runs %s after it was cancelled", attemptGrace+subprocess.Slack)
		}
		took := time.Since(begun)
		if claim := claimsSuccess(r.result, r.err); claim != "" {
			return fail("send a failure for a cancelled attempt", "%s", claim)
		}
		if err := s.Alive(ctx); err != nil {
			return fail(do, "%s", subprocess.Shorten(err.Error()))
		}
		var left []string
		if !subprocess.Poll(ctx, time.Second, func() bool { left = subprocess.DescribeMarked(r.mark); return len(left) == 0 }) {
			if c.Provider != nil && c.Provider.SoftCancel {
				return fail("end the whole process group of the agent, or do not declare soft_cancel", "it leaves processes behind: %v", left)
			}
			return pass("ended in %d ms; it leaves processes behind and does not claim soft_cancel", took.Milliseconds())
		}
		return pass("ended in %d ms", took.Milliseconds())
	})
}

// checkTimeout checks that an attempt ends at its time limit.
func checkTimeout(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "end the attempt timeout_ms after its start, with a failure of kind provider_timeout"
	const limit = time.Second
	begun := time.Now()
	return t.trySlow(ctx, s, c, limit, func(r *running) finding {
		select {
		case <-r.ended:
		case <-time.After(limit + attemptGrace + subprocess.Slack):
			return fail(do, "it still runs %s after a limit of %s", attemptGrace+subprocess.Slack, limit)
		}
		if claim := claimsSuccess(r.result, r.err); claim != "" {
			return fail(do, "%s", claim)
		}
		return pass("ended after %d ms, the limit was %d ms", time.Since(begun).Milliseconds(), limit.Milliseconds())
	})
}

// checkHeartbeat checks the heartbeats: the kernel treats silence as a crash.
func checkHeartbeat(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	s.Client = client.FromConn(s.Conn, client.IdleLimit(t.opts.scale.silence))
	return t.trySlow(ctx, s, c, 0, func(r *running) finding {
		select {
		case <-r.ended:
			return fail("send a heartbeat every 5 seconds for as long as an attempt lasts, from a thread of its own", "%s", explain(ctx, s, cmp.Or(r.err, errors.New("the attempt ended"))))
		case <-time.After(t.opts.scale.silence + time.Second/2):
		}
		return pass("no silence of %s", t.opts.scale.silence)
	})
}

func checkLargeOutput(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "raise the gRPC server's limit for sent messages to 64 MiB, or send the output in pieces"
	cases := t.opts.Cases.Providers[c.Name]
	p, err := t.perform(ctx, s, c, *cases.Large, nil, sdk.Verdict{})
	if why := p.fault(err); why != "" {
		return fail(do, "%s", why)
	}
	if n := len(p.output()); n <= 4<<20 {
		return fail("let the case yield more than 4 MiB, and send all of it", "%d bytes came back", n)
	}
	return pass("%d bytes came back", len(p.output()))
}
