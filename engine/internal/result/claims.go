package result

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Claims are an agent's statements about its outcome; absent members are zero. A member of the wrong type is left out,
// except outcome: an unknown outcome is an error.
type Claims struct {
	// Outcome is one of [Outcomes].
	Outcome string `json:"outcome,omitempty"`
	// Next is the agent's proposal for the next node. It steers nothing.
	Next    string `json:"next,omitempty"`
	Message string `json:"message,omitempty"` // the reason, for users
	// Feedback is for the node that the outcome leads to. A list is read as lines.
	Feedback string `json:"feedback,omitempty"`
	// Artifact is the node's artifact as the agent wrote it, nil for none.
	Artifact json.RawMessage `json:"artifact,omitempty"`
	// Escalation is a request for the user, nil for none.
	Escalation *Escalation `json:"escalation,omitempty"`
	// Steps are the statuses of steps, by their ids.
	Steps map[string]string `json:"steps,omitempty"`
	// Usage is the agent's estimate of its consumption. It is for readers: only a provider's report counts.
	Usage *Usage `json:"usage,omitempty"`
}

// Escalation is an agent's request for the user.
type Escalation struct {
	Type      string   `json:"type,omitempty"`
	Message   string   `json:"message,omitempty"`
	Questions []string `json:"questions,omitempty"`
	Options   []string `json:"options,omitempty"`
}

// Usage is an amount of tokens and money; nil members are unknown.
type Usage struct {
	InputTokens  *int64   `json:"input_tokens,omitempty"`
	OutputTokens *int64   `json:"output_tokens,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
}

// StepFailed is the status in [Claims].Steps of a step that must be repeated.
const StepFailed = "failed"

// Outcomes are the outcomes that an agent may claim. Only the kernel sets timeout and budget.
var Outcomes = []plan.Outcome{
	plan.OutcomeSuccess, plan.OutcomeFail, plan.OutcomeReject, plan.OutcomeRetry, plan.OutcomeError, plan.OutcomeEscalate, plan.OutcomeSkip,
}

// Claimed returns the outcome that the agent claims, success if it claims none. ask is the agent's explicit request. A
// request for the user is an escalation.
func (c Claims) Claimed(ask string) plan.Outcome {
	switch {
	case c.Escalation != nil:
		return plan.OutcomeEscalate
	case c.Outcome != "":
		return plan.Outcome(c.Outcome)
	case ask == "error":
		return plan.OutcomeError
	default:
		return plan.OutcomeSuccess
	}
}

// Why returns the agent's reason for its outcome, "" for none.
func (c Claims) Why() string {
	if c.Message == "" && c.Escalation != nil {
		return c.Escalation.Message
	}
	return c.Message
}

// Asking returns the reason and the question of an escalation, "" for none.
func (c Claims) Asking() string {
	why := c.Why()
	if c.Escalation == nil || len(c.Escalation.Questions) == 0 {
		return why
	}
	asks := "it asks: " + strings.Join(c.Escalation.Questions, " ")
	if why == "" {
		return asks
	}
	return why + " (" + asks + ")"
}

// claims reads an agent's claims from its result file.
func claims(m object) (Claims, error) {
	feedback, _ := member[any](m, "feedback")
	c := Claims{
		Next: short(text(m, "next"), maxWord), Message: short(text(m, "message"), maxText), Feedback: short(Lines(feedback), maxText),
		Steps: steps(m),
	}
	c.Artifact, _ = member[json.RawMessage](m, "artifact")
	if raw, claimed := member[json.RawMessage](m, "outcome"); claimed {
		c.Outcome = text(m, "outcome")
		if !slices.Contains(Outcomes, plan.Outcome(c.Outcome)) {
			return c, unknownOutcome(raw)
		}
	}
	if e, asked := member[object](m, "escalation"); asked {
		c.Escalation = &Escalation{
			Type: short(text(e, "type"), maxWord), Message: short(text(e, "message"), maxText),
			Questions: shortList(e, "questions"), Options: shortList(e, "options"),
		}
	}
	if u, _ := member[Usage](m, "usage"); u != (Usage{}) {
		c.Usage = &u
	}
	return c, nil
}

func unknownOutcome(value json.RawMessage) error {
	words := make([]string, len(Outcomes))
	for i, o := range Outcomes {
		words[i] = string(o)
	}
	return invalid("agent wrote invalid result.json: outcome %s is none of %s", short(string(rendered(value)), maxWord), strings.Join(words, ", "))
}

func steps(m object) map[string]string {
	written, _ := member[object](m, "steps")
	var statuses map[string]string
	for _, id := range slices.Sorted(maps.Keys(written)) {
		status, ok := member[string](written, id)
		if !ok || len(id) > maxWord || len(statuses) == maxItems {
			continue
		}
		if statuses == nil {
			statuses = map[string]string{}
		}
		statuses[id] = short(status, maxWord)
	}
	return statuses
}

// Lines returns a value as text for an agent: a text unchanged, a list as lines that begin with "- ", everything
// else as JSON, nil as "".
func Lines(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, item := range v {
			line := strings.ReplaceAll(strings.TrimSpace(Lines(item)), "\n", "\n  ")
			b.WriteString("- " + line + "\n")
		}
		return b.String()
	default:
		return string(rendered(v))
	}
}
