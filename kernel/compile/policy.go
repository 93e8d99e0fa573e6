package compile

import (
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// policy reads the policy of a pipeline, a node or a stage of a block; nil if absent.
func (m object) policy(owner policyOwner) *plan.Policy {
	inner, ok := m.objectAt("policy")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Policy)
	p := &plan.Policy{
		Timeout:      inner.seconds("timeout"),
		StageTimeout: inner.seconds("stage_timeout"),
		IdleTimeout:  inner.seconds("idle_timeout"),
		Retry:        inner.retry(),
	}
	p.Recovery = oneOf[plan.Recovery](inner, "recovery", &dialect.Policy)
	p.Context = oneOf[string](inner, "context", &dialect.Policy)
	p.Feedback, p.Approvals = inner.feedback(), inner.approvals()
	p.Cycles, p.Budget, p.Cost, p.Escalation = inner.cycles(), inner.budget(owner), inner.cost(), inner.escalation()
	p.Required = inner.isRequired(owner)
	p.Mode, p.Tools, p.Secrets = inner.mode(owner), inner.tools(), inner.secrets()
	if v := inner.get("env"); v.Node != nil && inner.checkEnv(v) {
		p.Env = v.JSON()
	}
	if v := inner.get("sandbox"); v.Node != nil {
		p.Sandbox = sandboxpolicy.Read(inner.Document, v.Node)
	}
	return p
}

// guardrails reads the time limit of a pipeline, a node or a stage; nil if absent.
func (m object) guardrails() *plan.Guardrails {
	inner, ok := m.objectAt("guardrails")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Guardrails)
	limit := inner.seconds("max_runtime_seconds")
	if limit == 0 {
		return nil
	}
	return &plan.Guardrails{MaxRuntimeSeconds: limit, Source: inner.location(inner.get("max_runtime_seconds")).String()}
}

func (m object) retry() *plan.Retry {
	inner, ok := m.objectAt("retry")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Retry)
	r := &plan.Retry{}
	r.Attempts, _ = inner.count("attempts")
	r.Step, _ = inner.count("step")
	r.Stage, _ = inner.count("stage")
	r.OnStageRetry = oneOf[string](inner, "on_stage_retry", &dialect.Retry)
	pauses, _ := inner.list("backoff")
	for _, pause := range pauses {
		n, ok := parseNumber(pause)
		switch {
		case !ok:
			inner.wrongItem(pause, "a pause in backoff", "a number")
		case n < 0:
			inner.Errorf(pause.Pos, yamldoc.CodeRange, "", "a pause in backoff must be at least 0 seconds, not %s", pause.Source)
		}
		r.Backoff = append(r.Backoff, n)
	}
	return r
}

// feedback reads how often the user may send a stage back; nil if absent.
func (m object) feedback() *plan.Feedback {
	inner, ok := m.objectAt("feedback")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Feedback)
	f := &plan.Feedback{Enabled: !inner.has("enabled") || inner.boolean("enabled")}
	most, at := inner.count("max")
	if most > plan.MaxFeedback {
		inner.Errorf(at.Pos, yamldoc.CodeRange, "", "max must be at most %d, not %s", plan.MaxFeedback, at.Source)
	}
	f.Max = most
	return f
}

// checkEnv checks for inherit, minimal or a list of names of variables.
func (m object) checkEnv(v value) bool {
	choices := dialect.Policy.Choices("env")
	switch {
	case v.Kind == yamldoc.Text && slices.Contains(choices, v.Source):
		return true
	case v.Kind == yamldoc.Text:
		m.Errorf(v.Pos, yamldoc.CodeChoice, didYouMean(v.Source, choices)+", or a list of names", "unknown env %q", v.Source)
		return false
	case v.Kind != yamldoc.List:
		m.wrongType(v, "inherit, minimal or a list of names")
		return false
	}
	for _, name := range v.Items {
		if name.Kind != yamldoc.Text || !variableName.MatchString(name.Source) {
			m.Errorf(name.Pos, yamldoc.CodeChoice, "list the names of variables, without values", "%q is not the name of an environment variable", name.Source)
			return false
		}
	}
	return true
}
