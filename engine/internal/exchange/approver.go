package exchange

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
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Limits of a question about a call (REQUIREMENTS C6).
const (
	maxPreview      = 500 // bytes of the arguments
	maxPreviewLines = 50  // lines of the provider's preview
)

// ErrUnanswered marks an attempt that ended because no user answered in time. The user must approve a retry.
var ErrUnanswered = errors.New("no answer came in time")

// approver decides on the tool calls of an attempt.
type approver struct {
	*recorder
	context  approval.Context
	pause    func() (resume func()) // pauses the attempt's deadline
	cancel   func(error)            // ends the attempt with the error
	replayed map[string]state.Call  // calls from before a crash, by id
}

// decide writes the decision on a call into the call's intent, before the intent is journaled. If the call ends the
// attempt, decide returns the error.
func (a *approver) decide(ctx context.Context, c sdk.ToolCall, intent *event.ToolCallData) error {
	if recorded, ok := a.replayed[c.CallID]; ok && decisionHolds(recorded.Call, *intent) {
		intent.Verdict, intent.Reason, intent.Question, intent.Rule = recorded.Call.Verdict, recorded.Call.Reason, recorded.Call.Question, recorded.Call.Rule
		return nil
	}
	policy := a.Plan.EffectivePolicy(a.Node).Approvals
	r := approval.Decide(policy, c, a.context)
	if r.Approval == plan.ApprovalPrompt {
		answer, err := a.askUser(ctx, c, *intent, r.Rule)
		if err != nil {
			return err
		}
		r = approval.Answered(policy, answer, r.Rule)
		if !answer.Expired {
			intent.Question = answer.ID
		}
	}
	action, known := r.Action()
	if !known {
		return a.endAttempt(c, r)
	}
	intent.Verdict, intent.Reason, intent.Rule = string(action), effect.TruncateText(r.Reason), r.Rule
	return nil
}

// decisionHolds reports whether a decision from before a crash still holds: for the same call, if it was allowed or
// if the user decided. A refusal by policy is decided again, since the user may answer now.
func decisionHolds(before, now event.ToolCallData) bool {
	return (before.Verdict == string(sdk.VerdictRun) || before.Question != "") && sameCall(before, now)
}

// askUser asks the user whether the call may run. rule is the name of the rule that requires the question. The
// attempt's deadline pauses until the answer.
func (a *approver) askUser(ctx context.Context, c sdk.ToolCall, intent event.ToolCallData, rule string) (event.QuestionAnsweredData, error) {
	d := event.QuestionAskedData{
		ID: event.ToolQuestionID(a.Command.Location, c.CallID), Kind: event.QuestionTool, Text: approval.Ask(c),
		Options: []string{event.AnswerApprove, event.AnswerReject, event.AnswerSkip}, AcceptFeedback: true,
		Call: &event.AskedCall{
			Tool: intent.Tool, Operation: intent.Category, Paths: intent.Paths, Command: intent.Command,
			Reason: event.Truncate(c.Reason, event.MaxReason), Risk: approval.Risk(c), Rule: rule,
		},
	}
	d.Digest = event.Digest(fmt.Sprintf("%q\n%s\n%q %q %q\n%q %q", c.Tool, c.Args, c.Category, c.Paths, c.Command, c.Reason, c.Preview))
	if err := a.addPreview(c, &d); err != nil {
		return event.QuestionAnsweredData{}, err
	}
	if policy := a.Plan.EffectivePolicy(a.Node).Approvals; policy != nil && policy.Timeout > 0 {
		due := time.Now().Add(plan.Seconds(policy.Timeout))
		d.Due = &due
	}
	defer a.pause()()
	return a.Ask(ctx, a.Event(event.QuestionAsked, d))
}

// addPreview adds to a question the beginning of the provider's preview, else of the arguments. It writes the whole
// preview and the arguments to files; without a preview, only arguments that were truncated.
func (a *approver) addPreview(c sdk.ToolCall, d *event.QuestionAskedData) error {
	args, preview := formatArgs(a.Redactor.JSON(c.Args)), a.Redactor.Text(c.Preview)
	if preview == "" {
		if d.Preview = event.Truncate(args, maxPreview); d.Preview == args {
			return nil
		}
		return a.addShownFile(d, "args", args)
	}
	lines := strings.SplitAfterN(strings.TrimRight(preview, "\n"), "\n", maxPreviewLines+1)
	d.Preview = event.Truncate(strings.Join(lines[:min(len(lines), maxPreviewLines)], ""), event.MaxText)
	if len(lines) > maxPreviewLines {
		d.Preview += "…"
	}
	return errors.Join(a.addShownFile(d, "preview", preview), a.addShownFile(d, "args", args))
}

func (a *approver) addShownFile(d *event.QuestionAskedData, name, text string) error {
	ref, err := a.writeBlob(name, []byte(text))
	d.Shown = append(d.Shown, ref)
	return err
}

// formatArgs renders arguments for users: as JSON, or one member at a time if a member has several lines of text.
func formatArgs(args json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil {
		return indentJSON(args)
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
		fmt.Fprintf(&b, "%s: %s\n", name, compactJSON(members[name]))
	}
	if !long {
		return indentJSON(args)
	}
	return b.String()
}

func indentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// endAttempt ends the attempt with an error, even if the provider ignores it.
func (a *approver) endAttempt(c sdk.ToolCall, r approval.Decision) error {
	asked, session := approval.Ask(c), a.State.Session
	err := failure.New(failure.ApprovalRequired, "%s: %s", asked, r.Reason).
		WithHint("`%s` asks the user; policy.approvals.non_interactive: auto, skip or deny decides without a question", failure.Next("resume", session, "--wait"))
	if r.Approval == plan.ApprovalEscalate {
		err = failure.New(failure.ApprovalRequired, "%s: %w", asked, ErrUnanswered).
			WithHint("`%s` shows the questions; policy.approvals.on_timeout: deny or skip continues without an answer", failure.Next("questions", "list", session))
	}
	a.cancel(err)
	return err
}

// MayAskUser reports whether the user may be asked about calls of the provider: about destructive ones under every policy.
func MayAskUser(e *effect.Effect, p sdk.Provider) bool {
	traits := p.Describe().Provider
	return traits != nil && traits.GatedTools && e.State.Waits
}
