package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"
)

const (
	// attemptLimit is how long an attempt may take that is to succeed: a model may think.
	attemptLimit = 5 * time.Minute
	// attemptGrace is the grace that attempts are given.
	attemptGrace = 2 * time.Second
	// silence is how long nothing may come of an attempt; the protocol says every 5 seconds.
	silence = 6500 * time.Millisecond
	// workTime is how long a slow attempt gets to begin its work before it is cut off.
	workTime = 300 * time.Millisecond
	// attemptVariable marks what an attempt starts.
	attemptVariable = "AGENT_PIPELINES_VERIFY_ATTEMPT"
)

// request is an attempt as the kernel would make it, in directories of its own.
func (t *trial) request(a Attempt) (sdk.ExecuteRequest, error) {
	t.mu.Lock()
	t.attempts++
	n := t.attempts
	t.mu.Unlock()
	dir := filepath.Join(t.dir, "attempt-"+strconv.Itoa(n))
	work := filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if err := t.opts.Cases.furnish(work); err != nil {
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

// performance is what one attempt reported.
type performance struct {
	record.Record
	result sdk.ExecuteResult
	usage  *sdk.Usage
	saved  []savepoint
}

// savepoint is a checkpoint and how many gated calls had been asked for before it.
type savepoint struct {
	checkpoint sdk.Checkpoint
	calls      int
}

// perform makes an attempt to its end. otherwise is the verdict on gated calls.
func (t *trial) perform(ctx context.Context, s *session, c sdk.Component, a Attempt, resume *sdk.Resume, otherwise sdk.Verdict) (performance, error) {
	request, err := t.request(a)
	if err != nil {
		return performance{}, err
	}
	request.Resume = resume
	ctx, cancel := within(ctx, attemptLimit)
	defer cancel()
	p := performance{}
	x := &record.Exchange{Default: otherwise}
	x.OnCheckpoint = func(saved sdk.Checkpoint) error {
		p.saved = append(p.saved, savepoint{saved, len(x.Record().Calls)})
		return nil
	}
	p.result, err = s.client.Provider(c).Execute(ctx, request, x)
	p.Record = x.Record()
	p.usage = p.result.Usage
	if reports := p.Usage; p.usage == nil && len(reports) > 0 {
		p.usage = &reports[len(reports)-1]
	}
	return p, err
}

// output is the text that the kernel would keep.
func (p performance) output() string { return cmp.Or(p.result.Output, p.Text(sdk.StreamText)) }

// dishonest says why an attempt that has to have succeeded did not, or does not look so. "" is well.
func (p performance) dishonest(err error) string {
	switch {
	case err != nil:
		return clip(err.Error())
	case cmp.Or(p.result.Outcome, sdk.OutcomeSucceeded) != sdk.OutcomeSucceeded:
		return fmt.Sprintf("outcome %s", p.result.Outcome)
	case p.result.Error != nil:
		return "a success with an error: " + clip(p.result.Error.Error())
	case p.output() == "":
		return "a success without any output; a provider that said nothing has outcome " + string(sdk.OutcomeEmpty)
	}
	return ""
}

// attemptOnce makes an attempt that has to succeed.
func (t *trial) attemptOnce(ctx context.Context, s *session, c sdk.Component, a Attempt) error {
	p, err := t.perform(ctx, s, c, a, nil, sdk.Verdict{})
	if why := p.dishonest(err); why != "" {
		return errors.New(why)
	}
	return nil
}

// needCase is a row for which the author gives no case.
func needCase(kind, name, what string) finding {
	return skip(fmt.Sprintf("%s.%s.%s in %s", kind, name, what, CasesFile), "no case %s is given", what)
}

func succeeds(ctx context.Context, t *trial, c sdk.Component) finding {
	cases := t.opts.Cases.Providers[c.Name]
	if cases.Normal == nil {
		return needCase("providers", c.Name, "normal")
	}
	s, err := t.live(ctx)
	if err != nil {
		return lost(err)
	}
	p, err := t.perform(ctx, s, c, *cases.Normal, nil, sdk.Verdict{})
	if failure.KindOf(err) == failure.ProviderCrashed {
		return fail("catch errors, and answer with a result", "%s", s.why(ctx, err))
	}
	if why := p.dishonest(err); why != "" {
		return fail("send a result with outcome succeeded and the output", "%s", why)
	}
	return pass("%d bytes of output: %s", len(p.output()), clip(p.output()))
}

// honest: an agent that exits 0 with nothing done must not count as a success.
func honest(ctx context.Context, t *trial, c sdk.Component) finding {
	cases := t.opts.Cases.Providers[c.Name]
	if cases.Idle == nil {
		return needCase("providers", c.Name, "idle")
	}
	s, err := t.live(ctx)
	if err != nil {
		return lost(err)
	}
	p, err := t.perform(ctx, s, c, *cases.Idle, nil, sdk.Verdict{})
	if failure.KindOf(err) == failure.ProviderCrashed && s.alive(ctx) != nil {
		return fail("catch errors, and answer with a result", "%s", s.why(ctx, err))
	}
	if claim := claims(p.result, err); claim != "" {
		return fail("say outcome empty where the agent did and said nothing, whatever its exit code", "%s", claim)
	}
	return pass("outcome %s", cmp.Or(string(p.result.Outcome), "failed"))
}

// claims describes an attempt that says it has succeeded; "" is one that does not.
func claims(result sdk.ExecuteResult, err error) string {
	if err != nil || result.Error != nil || cmp.Or(result.Outcome, sdk.OutcomeSucceeded) != sdk.OutcomeSucceeded {
		return ""
	}
	return fmt.Sprintf("it claims success, with %d bytes of output and no error", len(result.Output))
}

// running is a slow attempt on its way.
type running struct {
	mark   string // its entry in the environment of what it starts
	cancel context.CancelFunc
	ended  chan struct{}
	begun  chan struct{} // closed at the first output
	result sdk.ExecuteResult
	err    error
}

// begin starts an attempt that takes long, and gives it a moment to be at work. The caller cancels it and
// waits for its end.
func (t *trial) begin(ctx context.Context, s *session, c sdk.Component, a Attempt, limit time.Duration) (*running, error) {
	request, err := t.request(a)
	if err != nil {
		return nil, err
	}
	if request.Environment == nil {
		request.Environment = map[string]string{}
	}
	marker := newMarker()
	request.Environment[attemptVariable] = marker
	request.Timeout = limit
	ctx, cancel := context.WithCancel(ctx)
	r := &running{mark: attemptVariable + "=" + marker, cancel: cancel, ended: make(chan struct{}), begun: make(chan struct{}, 1)}
	x := &record.Exchange{OnOutput: func(sdk.OutputChunk) {
		select {
		case r.begun <- struct{}{}:
		default:
		}
	}}
	s.work.Go(func() {
		defer close(r.ended)
		r.result, r.err = s.client.Provider(c).Execute(ctx, request, x)
	})
	select {
	case <-r.begun:
	case <-r.ended:
	case <-time.After(workTime):
	}
	return r, nil
}

// over says whether the attempt has ended.
func (r *running) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// stop cancels the attempt and waits for its end, which the client bounds.
func (r *running) stop() {
	r.cancel()
	<-r.ended
}

// tooFast is the failure of a slow case that is not slow.
func (r *running) tooFast() finding {
	how := "it ended by itself"
	if r.err != nil {
		how += ": " + clip(r.err.Error())
	}
	return skip("a case slow that does not end by itself for a minute", "%s", how)
}

func cancels(ctx context.Context, t *trial, c sdk.Component) finding {
	const do = "end what the attempt started when cancel comes, and send a result within grace_ms"
	cases := t.opts.Cases.Providers[c.Name]
	if cases.Slow == nil {
		return needCase("providers", c.Name, "slow")
	}
	s, err := t.live(ctx)
	if err != nil {
		return lost(err)
	}
	r, err := t.begin(ctx, s, c, *cases.Slow, 0)
	if err != nil {
		return lost(err)
	}
	defer r.stop()
	if r.over() {
		return r.tooFast()
	}
	begun := time.Now()
	r.cancel()
	select {
	case <-r.ended:
	case <-time.After(attemptGrace + slack):
		return fail(do, "it goes on %s after it was cancelled", attemptGrace+slack)
	}
	took := time.Since(begun)
	if claim := claims(r.result, r.err); claim != "" {
		return fail("a cancelled attempt has not succeeded: send a failure", "%s", claim)
	}
	if err := s.alive(ctx); err != nil {
		return fail(do, "%s", clip(err.Error()))
	}
	var left []string
	if !until(ctx, time.Second, func() bool { left = marked(r.mark); return len(left) == 0 }) {
		if c.Provider != nil && c.Provider.SoftCancel {
			return fail("end the whole process group of the agent, or take the trait soft_cancel back", "it leaves processes behind: %v", left)
		}
		return pass("ended in %d ms; it leaves processes behind and does not claim soft_cancel", took.Milliseconds())
	}
	return pass("ended in %d ms", took.Milliseconds())
}

// timesOut: work ends by itself at the limit that it was told.
func timesOut(ctx context.Context, t *trial, c sdk.Component) finding {
	if c.Kind == sdk.KindHookAction {
		return t.hookTimesOut(ctx, c)
	}
	const do = "end the attempt timeout_ms after its start, with a failure of kind provider_timeout"
	cases := t.opts.Cases.Providers[c.Name]
	if cases.Slow == nil {
		return needCase("providers", c.Name, "slow")
	}
	s, err := t.live(ctx)
	if err != nil {
		return lost(err)
	}
	const limit = time.Second
	begun := time.Now()
	r, err := t.begin(ctx, s, c, *cases.Slow, limit)
	if err != nil {
		return lost(err)
	}
	defer r.stop()
	if r.over() {
		return r.tooFast()
	}
	select {
	case <-r.ended:
	case <-time.After(limit + attemptGrace + slack):
		return fail(do, "it goes on %s after a limit of %s", attemptGrace+slack, limit)
	}
	if claim := claims(r.result, r.err); claim != "" {
		return fail(do, "%s", claim)
	}
	return pass("ended after %d ms, the limit was %d ms", time.Since(begun).Milliseconds(), limit.Milliseconds())
}

// beats: a host takes silence for a crash.
func beats(ctx context.Context, t *trial, c sdk.Component) finding {
	cases := t.opts.Cases.Providers[c.Name]
	if cases.Slow == nil {
		return needCase("providers", c.Name, "slow")
	}
	s, err := t.fresh(ctx)
	if err != nil {
		return lost(err)
	}
	defer s.close()
	s.client = client.FromConn(s.conn, client.IdleLimit(t.opts.silence))
	r, err := t.begin(ctx, s, c, *cases.Slow, 0)
	if err != nil {
		return lost(err)
	}
	defer r.stop()
	if r.over() {
		return r.tooFast()
	}
	select {
	case <-r.ended:
		return fail("send a heartbeat every 5 seconds for as long as an attempt lasts, from a thread of its own", "%s", s.why(ctx, cmp.Or(r.err, errors.New("the attempt ended"))))
	case <-time.After(t.opts.silence + time.Second/2):
	}
	return pass("no silence of %s", t.opts.silence)
}

func givesLarge(ctx context.Context, t *trial, c sdk.Component) finding {
	const do = "raise the gRPC server's limit for sent messages to 64 MiB, or send the output in pieces"
	cases := t.opts.Cases.Providers[c.Name]
	if cases.Large == nil {
		return needCase("providers", c.Name, "large")
	}
	s, err := t.live(ctx)
	if err != nil {
		return lost(err)
	}
	p, err := t.perform(ctx, s, c, *cases.Large, nil, sdk.Verdict{})
	if why := p.dishonest(err); why != "" {
		return fail(do, "%s", why)
	}
	if n := len(p.output()); n <= 4<<20 {
		return fail("let the case yield more than 4 MiB, and send all of it", "%d bytes came back", n)
	}
	return pass("%d bytes came back", len(p.output()))
}
