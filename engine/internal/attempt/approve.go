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

// Limits of a question about a call (REQUIREMENTS C6).
const (
	maxPreview      = 500 // bytes of the arguments
	maxPreviewLines = 50  // lines of the provider's preview
)

// errUnanswered marks an attempt that ended because no user answered in time. The retry asks the user first.
var errUnanswered = errors.New("nobody answered in time")

// decide writes the decision on a call into its intent, before the journal gets it. If the call ends the attempt,
// decide returns the error.
func (x *exchange) decide(ctx context.Context, c sdk.ToolCall, intent *event.ToolCallData) error {
	if recorded, ok := x.recordedIntent(c.CallID); ok && decisionHolds(recorded, *intent) {
		intent.Verdict, intent.Reason, intent.Question, intent.Rule = recorded.Verdict, recorded.Reason, recorded.Question, recorded.Rule
		return nil
	}
	policy := x.attempt.Plan.EffectivePolicy(x.attempt.node).Approvals
	r := approval.Decide(policy, c, x.approvalContext)
	if r.Approval == plan.ApprovalPrompt {
		answer, err := x.askUser(ctx, c, *intent, r.Rule)
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
		return x.endAttempt(c, r)
	}
	intent.Verdict, intent.Reason, intent.Rule = string(action), truncateText(r.Reason), r.Rule
	return nil
}

// decisionHolds reports whether a decision from before a crash still holds: for the same call, if it was allowed or
// if the user decided. A refusal by policy is decided again, since the user may answer now.
func decisionHolds(before, now event.ToolCallData) bool {
	return (before.Verdict == string(sdk.VerdictRun) || before.Question != "") && sameCall(before, now)
}

// sameCall reports whether two records are of the same call.
func sameCall(before, now event.ToolCallData) bool {
	if before.Tool != now.Tool || before.Category != now.Category || before.Command != now.Command || !slices.Equal(before.Paths, now.Paths) {
		return false
	}
	if before.ArgsRef != nil || now.ArgsRef != nil {
		return before.ArgsRef != nil && now.ArgsRef != nil && before.ArgsRef.SHA256 == now.ArgsRef.SHA256
	}
	return bytes.Equal(compactJSON(before.Args), compactJSON(now.Args))
}

// compactJSON removes the white space between tokens, as in the journal.
func compactJSON(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// askUser asks whether a rule lets the call run. The attempt's deadline pauses meanwhile.
func (x *exchange) askUser(ctx context.Context, c sdk.ToolCall, intent event.ToolCallData, rule string) (event.QuestionAnsweredData, error) {
	d := event.QuestionAskedData{
		ID: event.ToolQuestionID(x.attempt.command.Location, c.CallID), Kind: event.QuestionTool, Text: approval.Ask(c),
		Options: []string{event.AnswerApprove, event.AnswerReject, event.AnswerSkip}, AcceptFeedback: true,
		Call: &event.AskedCall{
			Tool: intent.Tool, Operation: intent.Category, Paths: intent.Paths, Command: intent.Command,
			Reason: event.Truncate(c.Reason, event.MaxReason), Risk: approval.Risk(c), Rule: rule,
		},
	}
	d.Digest = event.Digest(fmt.Sprintf("%q\n%s\n%q %q %q\n%q %q", c.Tool, c.Args, c.Category, c.Paths, c.Command, c.Reason, c.Preview))
	if err := x.addPreview(c, &d); err != nil {
		return event.QuestionAnsweredData{}, err
	}
	if limit := x.attempt.Plan.EffectivePolicy(x.attempt.node).Approvals.Timeout; limit > 0 {
		due := time.Now().Add(seconds(limit))
		d.Due = &due
	}
	defer x.pause()()
	return x.attempt.ask(ctx, x.newEvent(event.QuestionAsked, d))
}

// addPreview adds to a question the beginning of the provider's preview, else of the arguments. Truncated texts are
// also written to files.
func (x *exchange) addPreview(c sdk.ToolCall, d *event.QuestionAskedData) error {
	args, preview := formatArgs(x.attempt.Redactor.JSON(c.Args)), x.attempt.Redactor.Text(c.Preview)
	if preview == "" {
		if d.Preview = event.Truncate(args, maxPreview); d.Preview == args {
			return nil
		}
		return x.addShownFile(d, "args", args)
	}
	lines := strings.SplitAfterN(strings.TrimRight(preview, "\n"), "\n", maxPreviewLines+1)
	d.Preview = event.Truncate(strings.Join(lines[:min(len(lines), maxPreviewLines)], ""), event.MaxText)
	if len(lines) > maxPreviewLines {
		d.Preview += "…"
	}
	return errors.Join(x.addShownFile(d, "preview", preview), x.addShownFile(d, "args", args))
}

func (x *exchange) addShownFile(d *event.QuestionAskedData, name, text string) error {
	ref, err := x.attempt.writeBlob(name, []byte(text))
	d.Shown = append(d.Shown, ref)
	return err
}

// formatArgs renders arguments for people: as JSON, or one member at a time if a member has several lines of text.
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
func (x *exchange) endAttempt(c sdk.ToolCall, r approval.Decision) error {
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

// recordedIntent returns the intent that a call had before a crash.
func (x *exchange) recordedIntent(id string) (event.ToolCallData, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	call, ok := x.replayedCalls[id]
	return call.Call, ok
}

// mayAskUser reports whether the user may be asked about calls of the provider.
func (a *attempt) mayAskUser(p sdk.Provider) bool {
	traits := p.Describe().Provider
	return traits != nil && traits.GatedTools && approval.MayAsk(a.Plan.EffectivePolicy(a.node).Approvals, a.state.Waits)
}
