package verify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// workLimit is the deadline of one decision or firing.
const workLimit = time.Minute

// decide makes one decision. An invalid decision is an error.
func (t *trial) decide(ctx context.Context, s *subprocess.Session, c sdk.Component, cases DecideCases, one DecideCase) (sdk.Decision, error) {
	ctx, cancel := subprocess.WithTimeout(ctx, workLimit)
	defer cancel()
	d, err := s.Client.Termination(c).Decide(ctx, one.request(cases, t.dir))
	if err != nil {
		return d, errors.New(explain(ctx, s, err))
	}
	return d, illegalDecision(d)
}

func (one DecideCase) request(cases DecideCases, dir string) sdk.DecideRequest {
	r := one.Request
	r.Session, r.Node, r.Stage = cmp.Or(r.Session, "verify"), cmp.Or(r.Node, "node"), cmp.Or(r.Stage, "stage")
	r.WorkDir = cmp.Or(r.WorkDir, dir)
	r.Iteration, r.Max, r.Round = cmp.Or(one.Iteration, r.Iteration, 1), cmp.Or(one.Max, r.Max), cmp.Or(one.Round, r.Round)
	r.Hint = cmp.Or(one.Hint, r.Hint)
	r.Config, r.Result, r.State = firstJSON(one.Config, r.Config, cases.Config), firstJSON(one.Result, r.Result), firstJSON(one.State, r.State)
	if r.Round > 0 && r.Answer == nil {
		r.Answer = &sdk.Answer{Output: one.Answer}
	}
	return r
}

// firstJSON returns the first value that is not empty.
func firstJSON(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if len(v) > 0 {
			return v
		}
	}
	return nil
}

// illegalDecision returns an error for a decision that breaks the rules on which the kernel relies.
func illegalDecision(d sdk.Decision) error {
	switch d.Action {
	case sdk.DecisionContinue, sdk.DecisionStop, sdk.DecisionError:
	case sdk.DecisionAsk:
		if d.Question == nil || d.Question.Prompt == "" {
			return errors.New("ask without a question's prompt")
		}
	default:
		return fmt.Errorf("unknown action %q", d.Action)
	}
	if d.Confidence < 0 || d.Confidence > 1 {
		return fmt.Errorf("confidence is %v, want 0 to 1", d.Confidence)
	}
	return nil
}

func (one DecideCase) title(i int) string { return cmp.Or(one.Name, fmt.Sprintf("decision %d", i+1)) }

func checkDecisions(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	cases := t.opts.Cases.Terminations[c.Name]
	for i, one := range cases.Decisions {
		d, err := t.decide(ctx, s, c, cases, one)
		switch {
		case err != nil:
			return fail("answer with continue, stop, error or ask", "%s: %s", one.title(i), subprocess.Shorten(err.Error()))
		case one.Want != "" && d.Action != one.Want:
			return fail("correct the strategy, or the case", "%s: got %s (%s), want %s", one.title(i), d.Action, subprocess.Shorten(d.Reason), one.Want)
		}
	}
	return pass("%d decisions", len(cases.Decisions))
}

// checkRepeats checks that a strategy keeps nothing between calls, so that another process can repeat a
// decision after a crash. It also passes the returned state to another decision.
func checkRepeats(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "decide only by the request; keep data in state, which is passed back"
	cases := t.opts.Cases.Terminations[c.Name]
	other, err := t.newSession(ctx)
	if err != nil {
		return noProcess(err)
	}
	defer other.Close()
	for i, one := range cases.Decisions {
		first, err := t.decide(ctx, s, c, cases, one)
		if err != nil {
			return fail(do, "%s: %s", one.title(i), subprocess.Shorten(err.Error()))
		}
		for name, again := range map[string]*subprocess.Session{"asked again": s, "asked in another process": other} {
			second, err := t.decide(ctx, again, c, cases, one)
			switch {
			case err != nil:
				return fail(do, "%s, %s: %s", one.title(i), name, subprocess.Shorten(err.Error()))
			case first.Action != second.Action:
				return fail(do, "%s: first %s, %s %s", one.title(i), first.Action, name, second.Action)
			case !sameJSON(first.State, second.State):
				return fail(do, "%s: first state %s, %s %s", one.title(i), subprocess.Shorten(string(first.State)), name, subprocess.Shorten(string(second.State)))
			}
		}
		next := one
		next.State, next.Iteration, next.Round = first.State, cmp.Or(one.Iteration, one.Request.Iteration, 1)+1, 0
		next.Request.Round, next.Request.Answer = 0, nil
		if _, err := t.decide(ctx, other, c, cases, next); err != nil {
			return fail(do, "%s: its own state, passed back: %s", one.title(i), subprocess.Shorten(err.Error()))
		}
	}
	return pass("%d decisions, in two processes", len(cases.Decisions))
}

func sameJSON(a, b json.RawMessage) bool {
	var one, two bytes.Buffer
	if json.Compact(&one, a) != nil || json.Compact(&two, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(one.Bytes(), two.Bytes())
}

func checkRelease(ctx context.Context, _ *trial, s *subprocess.Session, c sdk.Component) finding {
	releaser, ok := s.Client.Termination(c).(sdk.Releaser)
	if !ok {
		return skip("", "it holds nothing")
	}
	if err := releaser.Release(ctx, "a-session-that-never-was"); err != nil {
		return fail("report success if there is nothing to release", "%s", explain(ctx, s, err))
	}
	return pass("")
}
