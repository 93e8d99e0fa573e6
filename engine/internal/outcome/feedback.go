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

// maxFeedback bounds the text for whoever works next, in bytes.
const maxFeedback = 64 << 10

// keepFeedback writes what whoever works next is told because of the outcome, nil where there is nothing to tell.
func (k *settling) keepFeedback(o plan.Outcome) (*event.Ref, error) {
	if o == plan.OutcomeSuccess || o == plan.OutcomeSkip {
		return nil, nil //nolint:nilnil // a success needs no words
	}
	text := k.feedback(o)
	if text == "" {
		return nil, nil //nolint:nilnil // there is nothing to tell
	}
	ref, err := k.Dir.Write(k.it.Feedback(), []byte(text))
	return &ref, err
}

// feedback is what the agent says, then what was measured.
func (k *settling) feedback(o plan.Outcome) string {
	claims := k.reading.Result.Claims
	var words string
	if field := k.Node.Transitions[o].Feedback; field != "" {
		words = result.Lines(artifact.Field(k.found.Data, field))
	}
	parts := []string{cmp.Or(strings.TrimSpace(words), strings.TrimSpace(claims.Feedback), strings.TrimSpace(claims.Why()))}
	if o == plan.OutcomeEscalate && claims.Escalation != nil {
		parts = append(parts, asked(*claims.Escalation))
	}
	for _, m := range k.loop.Measured {
		switch {
		case m.Failure != nil:
			parts = append(parts, fmt.Sprintf("Check %s could not be made: %s", m.ID, m.Failure.Message))
		case !m.Passed:
			parts = append(parts, missed(m.ID, m.Reason, k.facts[m.ID]))
		}
	}
	for _, step := range k.failed() {
		parts = append(parts, "S"+step[1:])
	}
	if len(k.faults) > 0 {
		parts = append(parts, fmt.Sprintf("The artifact in %s is not what the contract says:\n%s", k.found.From, bullets(k.faults)))
	}
	return joined(parts)
}

func bullets[T fmt.Stringer](list []T) string {
	var b strings.Builder
	for _, of := range list {
		b.WriteString("- " + of.String() + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// asked is what a person is to say.
func asked(e result.Escalation) string {
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

// missed is a check that did not pass.
func missed(id, reason string, f artifact.Facts) string {
	text := fmt.Sprintf("Check %s did not pass: %s", id, reason)
	if len(f.Failed) > 0 {
		text += "\nFailed:\n- " + strings.Join(f.Failed, "\n- ")
	}
	if out := strings.TrimRight(f.Output, "\n"); out != "" {
		text += "\nThe end of its output:\n" + out
	}
	return text
}

// joined are the parts that say something, with a line between them, and no more than is allowed.
func joined(parts []string) string {
	var said []string
	for _, p := range parts {
		if p != "" {
			said = append(said, p)
		}
	}
	if len(said) == 0 {
		return ""
	}
	text := strings.Join(said, "\n\n") + "\n"
	if len(text) > maxFeedback {
		const cut = "…\n"
		text = strings.ToValidUTF8(text[:maxFeedback-len(cut)], "") + cut
	}
	return text
}
