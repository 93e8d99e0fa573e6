package outcome

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// maxFeedback bounds the feedback for the next agent, in bytes.
const maxFeedback = 64 << 10

// writeFeedback writes the feedback that an outcome has for the next agent. It returns nil without feedback.
func (k *iterationEvaluation) writeFeedback(o plan.Outcome) (*event.Ref, error) {
	if o == plan.OutcomeSuccess || o == plan.OutcomeSkip {
		return nil, nil //nolint:nilnil // a success needs no feedback
	}
	text := k.feedback(o)
	if text == "" {
		return nil, nil //nolint:nilnil // nothing to write
	}
	ref, err := k.Dir.Write(k.iterationDir.Feedback(), []byte(text))
	return &ref, err
}

// feedback returns the agent's text and escalation, the failed checks, the failed steps and the artifact's faults.
func (k *iterationEvaluation) feedback(o plan.Outcome) string {
	claims := k.reading.Result.Claims
	var text string
	if field := k.Node.Transitions[o].Feedback; field != "" {
		text = result.Lines(artifact.Field(k.candidate.Data, field))
	}
	parts := []string{cmp.Or(strings.TrimSpace(text), strings.TrimSpace(claims.Feedback), strings.TrimSpace(claims.Why()))}
	if o == plan.OutcomeEscalate && claims.Escalation != nil {
		parts = append(parts, escalationText(*claims.Escalation))
	}
	for _, m := range k.loop.Measured {
		switch {
		case m.Failure != nil:
			parts = append(parts, fmt.Sprintf("Check %s could not be made: %s", m.ID, m.Failure.Message))
		case !m.Passed:
			parts = append(parts, checkFailureText(m.ID, m.Reason, k.facts[m.ID]))
		}
	}
	for _, step := range k.failedStepReasons() {
		parts = append(parts, "S"+step[1:])
	}
	if len(k.faults) > 0 {
		parts = append(parts, fmt.Sprintf("The artifact in %s is not what the contract says:\n%s", k.candidate.From, bulletList(k.faults)))
	}
	return joinParts(parts)
}

func bulletList[T fmt.Stringer](list []T) string {
	var b strings.Builder
	for _, item := range list {
		b.WriteString("- " + item.String() + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// escalationText renders the type, the questions and the options of an escalation.
func escalationText(e result.Escalation) string {
	var parts []string
	if e.Type != "" {
		parts = append(parts, "A person is needed: "+e.Type)
	}
	if len(e.Questions) > 0 {
		parts = append(parts, "Questions:\n- "+strings.Join(e.Questions, "\n- "))
	}
	if len(e.Options) > 0 {
		parts = append(parts, "Options:\n- "+strings.Join(e.Options, "\n- "))
	}
	return strings.Join(parts, "\n\n")
}

// checkFailureText describes a check that did not pass.
func checkFailureText(id, reason string, f artifact.Facts) string {
	text := fmt.Sprintf("Check %s did not pass: %s", id, reason)
	if len(f.Failed) > 0 {
		text += "\nFailed:\n- " + strings.Join(f.Failed, "\n- ")
	}
	if out := strings.TrimRight(f.Output, "\n"); out != "" {
		text += "\nThe end of its output:\n" + out
	}
	return text
}

// joinParts joins the non-empty parts, with blank lines between them, and truncates the text to [maxFeedback].
func joinParts(parts []string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	text := strings.Join(kept, "\n\n") + "\n"
	if len(text) > maxFeedback {
		const cut = "…\n"
		text = strings.ToValidUTF8(text[:maxFeedback-len(cut)], "") + cut
	}
	return text
}
