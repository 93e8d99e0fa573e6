package sources

import (
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ReadPolicy reads the policy of a pipeline, a node or a stage of a block; nil if absent.
func ReadPolicy(m dialect.Map, owner PolicyOwner) *plan.Policy {
	inner, ok := m.MapAt("policy")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Policy)
	p := &plan.Policy{
		Timeout:      inner.Seconds("timeout"),
		StageTimeout: inner.Seconds("stage_timeout"),
		IdleTimeout:  inner.Seconds("idle_timeout"),
		Retry:        readRetry(inner),
	}
	p.Recovery = dialect.ReadChoice[plan.Recovery](inner, "recovery", &dialect.Policy)
	p.Context = dialect.ReadChoice[string](inner, "context", &dialect.Policy)
	p.Feedback, p.Approvals = readFeedback(inner), readApprovals(inner)
	p.Cycles, p.Budget, p.Cost, p.Escalation = readCycles(inner), readBudget(inner, owner), readCost(inner), readEscalation(inner)
	p.Required = isRequired(inner, owner)
	p.Mode, p.Tools, p.Secrets = readMode(inner, owner), readTools(inner), readSecrets(inner)
	if v := inner.Get("env"); v.Node != nil && checkEnv(inner, v) {
		p.Env = v.JSON()
	}
	if v := inner.Get("sandbox"); v.Node != nil {
		p.Sandbox = sandboxpolicy.Read(inner.Document, v.Node)
	}
	return p
}

// ReadGuardrails reads the time limit of a pipeline, a node or a stage; nil if absent.
func ReadGuardrails(m dialect.Map) *plan.Guardrails {
	inner, ok := m.MapAt("guardrails")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Guardrails)
	limit := inner.Seconds("max_runtime_seconds")
	if limit == 0 {
		return nil
	}
	return &plan.Guardrails{MaxRuntimeSeconds: limit, Source: inner.Location(inner.Get("max_runtime_seconds")).String()}
}

func readRetry(m dialect.Map) *plan.Retry {
	inner, ok := m.MapAt("retry")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Retry)
	r := &plan.Retry{}
	r.Attempts, _ = inner.Count("attempts")
	r.Step, _ = inner.Count("step")
	r.Stage, _ = inner.Count("stage")
	r.OnStageRetry = dialect.ReadChoice[string](inner, "on_stage_retry", &dialect.Retry)
	pauses, _ := inner.List("backoff")
	for _, pause := range pauses {
		n, ok := dialect.ParseNumber(pause)
		switch {
		case !ok:
			inner.WrongItem(pause, "a pause in backoff", "a number")
		case n < 0:
			inner.Errorf(pause.Pos, yamldoc.CodeRange, "", "a pause in backoff must be at least 0 seconds, not %s", pause.Source)
		}
		r.Backoff = append(r.Backoff, n)
	}
	return r
}

// readFeedback reads how often the user may send a stage back; nil if absent.
func readFeedback(m dialect.Map) *plan.Feedback {
	inner, ok := m.MapAt("feedback")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Feedback)
	f := &plan.Feedback{Enabled: !inner.Has("enabled") || inner.Boolean("enabled")}
	most, at := inner.Count("max")
	if most > plan.MaxFeedback {
		inner.Errorf(at.Pos, yamldoc.CodeRange, "", "max must be at most %d, not %s", plan.MaxFeedback, at.Source)
	}
	f.Max = most
	return f
}

// checkEnv checks for inherit, minimal or a list of names of variables.
func checkEnv(m dialect.Map, v dialect.Member) bool {
	choices := dialect.Policy.Choices("env")
	switch {
	case v.Kind == yamldoc.Text && slices.Contains(choices, v.Source):
		return true
	case v.Kind == yamldoc.Text:
		m.Errorf(v.Pos, yamldoc.CodeChoice, dialect.DidYouMean(v.Source, choices)+", or a list of names", "unknown env %q", v.Source)
		return false
	case v.Kind != yamldoc.List:
		m.WrongType(v, "inherit, minimal or a list of names")
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
