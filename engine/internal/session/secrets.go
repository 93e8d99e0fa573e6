package session

import (
	"encoding/json"
	"regexp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// setPlan sets the session's plan and adds its secret patterns to the redactor.
func (s *session) setPlan(p *plan.Plan) error {
	var patterns []*regexp.Regexp
	for _, text := range p.SecretPatterns() {
		compiled, err := regexp.Compile(text)
		if err != nil { // the plan was not made by the compiler
			return failure.New(failure.ConfigInvalid, "policy.secrets.patterns of session '%s': %w", s.name, err)
		}
		patterns = append(patterns, compiled)
	}
	s.plan = p
	if len(patterns) > 0 {
		s.redactor = s.engine.env.Redactor.WithPatterns(patterns)
		s.host.Redact(s.redactor)
	}
	return nil
}

// redactEvent removes secrets from an event before it is journaled, and completes its command lines.
func (s *session) redactEvent(e event.Event) event.Event {
	e = redaction.Event(s.redactor, e)
	e.Data = json.RawMessage(failure.Render(string(e.Data), s.engine.env.Config.Program))
	return e
}

// redactPlan returns the plan without secrets in the user's text for the agent, which is stored in the
// session and sent to the model's provider.
func (s *session) redactPlan(p *plan.Plan) *plan.Plan {
	o := p.Pipeline.Overrides
	if o == nil || s.redactor.ForAgent().Text(o.Context) == o.Context {
		return p
	}
	clean, overrides := *p, *o
	overrides.Context = s.redactor.ForAgent().Text(o.Context)
	clean.Pipeline.Overrides = &overrides
	return &clean
}
