package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/verdict"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// maxPreview is how much of a call's arguments a question shows, in bytes of a line.
const maxPreview = 500

// errUnanswered marks an attempt that ended because no person answered it in time: they are asked before it is made
// again.
var errUnanswered = errors.New("nobody answered in time")

// rule decides on a call that is about to be journaled as intent, and writes the decision into it. A call that ends
// the attempt instead is returned as an error.
func (x *exchange) rule(ctx context.Context, c sdk.ToolCall, intent *event.ToolCallData) error {
	if was, ok := x.remembered(c.CallID); ok && stands(was, *intent) {
		intent.Verdict, intent.Reason, intent.Question = was.Verdict, was.Reason, was.Question
		return nil
	}
	policy := x.attempt.Plan.PolicyOf(x.attempt.node).Approvals
	r := verdict.Of(policy, c, x.attempt.state.Waits)
	if r.Approval == plan.ApprovalPrompt {
		answer, err := x.askPerson(ctx, c, policy)
		if err != nil {
			return err
		}
		r = verdict.Answered(policy, answer)
		if !answer.Expired {
			intent.Question = answer.ID
		}
	}
	action, told := r.Action()
	if !told {
		return x.giveUp(c, r)
	}
	intent.Verdict, intent.Reason = string(action), r.Reason
	return nil
}

// stands reports whether the verdict on a call that a crash cut off holds for what is asked about now: the same
// call, which was about to be made or which a person decided on. What a policy refused is ruled on anew, since a
// person may be there by now.
func stands(was, now event.ToolCallData) bool {
	if was.Verdict != string(sdk.VerdictRun) && was.Question == "" || was.Tool != now.Tool {
		return false
	}
	if was.ArgsRef != nil || now.ArgsRef != nil {
		return was.ArgsRef != nil && now.ArgsRef != nil && was.ArgsRef.SHA256 == now.ArgsRef.SHA256
	}
	return bytes.Equal(compact(was.Args), compact(now.Args))
}

// compact is JSON as the journal has it, which leaves out the white space between its tokens.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// askPerson asks whether the call may be made. The attempt's time stands still meanwhile.
func (x *exchange) askPerson(ctx context.Context, c sdk.ToolCall, p *plan.Approvals) (event.QuestionAnsweredData, error) {
	d := event.QuestionAskedData{
		ID: event.ToolQuestionID(x.attempt.command.Place, c.CallID), Kind: event.QuestionTool,
		Text:    "the agent wants to run " + event.Brief(c.Tool, event.MaxName),
		Digest:  event.Digest(fmt.Sprintf("%q\n%s", c.Tool, c.Args)),
		Options: []string{event.AnswerApprove, event.AnswerReject}, AcceptFeedback: true,
	}
	pretty := indented(x.attempt.Redactor.JSON(c.Args))
	if d.Preview = event.Brief(pretty, maxPreview); d.Preview != pretty {
		ref, err := x.attempt.keepBlob("args", []byte(pretty))
		if err != nil {
			return event.QuestionAnsweredData{}, err
		}
		d.Shown = []event.Ref{ref}
	}
	if p.Timeout > 0 {
		due := time.Now().Add(seconds(p.Timeout))
		d.Due = &due
	}
	defer x.pause()()
	return x.attempt.ask(ctx, x.event(event.QuestionAsked, d))
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// giveUp ends the attempt, whatever the provider makes of the error.
func (x *exchange) giveUp(c sdk.ToolCall, r verdict.Ruling) error {
	tool, session := event.Brief(c.Tool, event.MaxName), x.attempt.state.Session
	err := failure.New(failure.ApprovalRequired, "the agent wants to run %s: %s", tool, r.Reason).
		WithHint("agent-pipelines resume %s --wait asks a person; policy.approvals.non_interactive: auto, skip or deny asks nobody", session)
	if r.Approval == plan.ApprovalEscalate {
		err = failure.New(failure.ApprovalRequired, "the agent wants to run %s: %w", tool, errUnanswered).
			WithHint("agent-pipelines questions list %s shows what is asked; policy.approvals.on_timeout: deny or skip goes on without an answer", session)
	}
	x.cancel(err)
	return err
}

// remembered is the intent of a call of an attempt that was cut off, if it has one.
func (x *exchange) remembered(id string) (event.ToolCallData, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	was, ok := x.known[id]
	return was.Call, ok
}

// mayAsk reports whether a person may be asked about calls of the provider.
func (a *attempt) mayAsk(p sdk.Provider) bool {
	traits := p.Describe().Provider
	return traits != nil && traits.GatedTools && verdict.Asks(a.Plan.PolicyOf(a.node).Approvals, a.state.Waits)
}
