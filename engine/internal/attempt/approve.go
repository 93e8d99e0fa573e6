package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/approval"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// What a question shows of a call: of its arguments, in bytes of a line; of the preview that its provider gives, in
// lines (REQUIREMENTS C6).
const (
	maxPreview      = 500
	maxPreviewLines = 50
)

// errUnanswered marks an attempt that ended because no person answered it in time: they are asked before it is made
// again.
var errUnanswered = errors.New("nobody answered in time")

// rule decides on a call that is about to be journaled as intent, and writes the decision into it. A call that ends
// the attempt instead is returned as an error.
func (x *exchange) rule(ctx context.Context, c sdk.ToolCall, intent *event.ToolCallData) error {
	if was, ok := x.remembered(c.CallID); ok && stands(was, *intent) {
		intent.Verdict, intent.Reason, intent.Question, intent.Rule = was.Verdict, was.Reason, was.Question, was.Rule
		return nil
	}
	policy := x.attempt.Plan.PolicyOf(x.attempt.node).Approvals
	r := approval.Decide(policy, c, x.scene)
	if r.Approval == plan.ApprovalPrompt {
		answer, err := x.askPerson(ctx, c, *intent, r.Rule)
		if err != nil {
			return err
		}
		r = approval.Answered(policy, answer, r.Rule)
		if !answer.Expired {
			intent.Question = answer.ID
		}
	}
	action, told := r.Action()
	if !told {
		return x.giveUp(c, r)
	}
	intent.Verdict, intent.Reason, intent.Rule = string(action), brief(r.Reason), r.Rule
	return nil
}

// stands reports whether the verdict on a call that a crash cut off holds for what is asked about now: the same
// call, which was about to be made or which a person decided on. What a policy refused is ruled on anew, since a
// person may be there by now.
func stands(was, now event.ToolCallData) bool {
	return (was.Verdict == string(sdk.VerdictRun) || was.Question != "") && same(was, now)
}

// same reports whether two records are of the same call.
func same(was, now event.ToolCallData) bool {
	if was.Tool != now.Tool || was.Category != now.Category || was.Command != now.Command || !slices.Equal(was.Paths, now.Paths) {
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

// askPerson asks whether the call may be made, because of a rule. The attempt's time stands still meanwhile.
func (x *exchange) askPerson(ctx context.Context, c sdk.ToolCall, intent event.ToolCallData, rule string) (event.QuestionAnsweredData, error) {
	d := event.QuestionAskedData{
		ID: event.ToolQuestionID(x.attempt.command.Location, c.CallID), Kind: event.QuestionTool, Text: approval.Ask(c),
		Options: []string{event.AnswerApprove, event.AnswerReject, event.AnswerSkip}, AcceptFeedback: true,
		Call: &event.AskedCall{
			Tool: intent.Tool, Operation: intent.Category, Paths: intent.Paths, Command: intent.Command,
			Reason: event.Truncate(c.Reason, event.MaxReason), Risk: approval.Risk(c), Rule: rule,
		},
	}
	d.Digest = event.Digest(fmt.Sprintf("%q\n%s\n%q %q %q\n%q %q", c.Tool, c.Args, c.Category, c.Paths, c.Command, c.Reason, c.Preview))
	if err := x.show(c, &d); err != nil {
		return event.QuestionAnsweredData{}, err
	}
	if limit := x.attempt.Plan.PolicyOf(x.attempt.node).Approvals.Timeout; limit > 0 {
		due := time.Now().Add(seconds(limit))
		d.Due = &due
	}
	defer x.pause()()
	return x.attempt.ask(ctx, x.event(event.QuestionAsked, d))
}

// show puts into a question the beginning of what its provider previews, or else of the arguments, and files with what
// is not shown whole.
func (x *exchange) show(c sdk.ToolCall, d *event.QuestionAskedData) error {
	args, preview := legible(x.attempt.Redactor.JSON(c.Args)), x.attempt.Redactor.Text(c.Preview)
	if preview == "" {
		if d.Preview = event.Truncate(args, maxPreview); d.Preview == args {
			return nil
		}
		return x.keepShown(d, "args", args)
	}
	lines := strings.SplitAfterN(strings.TrimRight(preview, "\n"), "\n", maxPreviewLines+1)
	d.Preview = event.Truncate(strings.Join(lines[:min(len(lines), maxPreviewLines)], ""), event.MaxText)
	if len(lines) > maxPreviewLines {
		d.Preview += "…"
	}
	return errors.Join(x.keepShown(d, "preview", preview), x.keepShown(d, "args", args))
}

func (x *exchange) keepShown(d *event.QuestionAskedData, what, text string) error {
	ref, err := x.attempt.keepBlob(what, []byte(text))
	d.Shown = append(d.Shown, ref)
	return err
}

// legible are arguments for people: JSON, or member by member where one of them is a text of several lines.
func legible(args json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return indented(args)
	}
	var b strings.Builder
	long := false
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var text string
		if json.Unmarshal(members[name], &text) == nil && strings.Contains(text, "\n") {
			long = true
			fmt.Fprintf(&b, "%s:\n%s\n", name, strings.TrimRight(text, "\n"))
			continue
		}
		fmt.Fprintf(&b, "%s: %s\n", name, compact(members[name]))
	}
	if !long {
		return indented(args)
	}
	return b.String()
}

func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// giveUp ends the attempt, whatever the provider makes of the error.
func (x *exchange) giveUp(c sdk.ToolCall, r approval.Decision) error {
	asked, session := approval.Ask(c), x.attempt.state.Session
	err := failure.New(failure.ApprovalRequired, "%s: %s", asked, r.Reason).
		WithHint("`agent-pipelines resume %s --wait` asks a person; policy.approvals.non_interactive: auto, skip or deny asks nobody", session)
	if r.Approval == plan.ApprovalEscalate {
		err = failure.New(failure.ApprovalRequired, "%s: %w", asked, errUnanswered).
			WithHint("`agent-pipelines questions list %s` shows what is asked; policy.approvals.on_timeout: deny or skip goes on without an answer", session)
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
	return traits != nil && traits.GatedTools && approval.MayAsk(a.Plan.PolicyOf(a.node).Approvals, a.state.Waits)
}
