package engine

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// newRedactor returns a redactor with the secrets of the user's environment and of the components' settings.
func (c *config) newRedactor(s allSettings) *redact.Redactor {
	secrets := slices.Clone(c.environ)
	for _, p := range slices.Concat(s.overrides, s.project.Providers, s.user.Providers) {
		secrets = append(secrets, secretEntries("", p.Config)...)
	}
	for _, n := range s.layers().Notify() {
		secrets = append(secrets, secretEntries("", n.Config)...)
	}
	return redact.New(secrets)
}

// plainWord matches words of letters, such as a plugin's setting (auth: oauth) or a variable's name.
// Redacting these would garble ordinary texts.
var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,23}$`)

// secretEntries returns the texts of a JSON value as "name=value", named by their member. A text with a
// scheme before it, as in headers (Bearer ...), is added without it, too.
func secretEntries(name string, doc json.RawMessage) []string {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	var text string
	var all []string
	switch {
	case json.Unmarshal(doc, &text) == nil:
		if strings.Contains(text, "${") || plainWord.MatchString(text) {
			return nil
		}
		all = append(all, name+"="+text)
		if _, rest, found := strings.Cut(text, " "); found {
			all = append(all, name+"="+rest)
		}
	case json.Unmarshal(doc, &object) == nil:
		for member, value := range object {
			all = append(all, secretEntries(member, value)...)
		}
	case json.Unmarshal(doc, &list) == nil:
		for _, value := range list {
			all = append(all, secretEntries(name, value)...)
		}
	}
	return all
}

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
		s.redactor = s.engine.redactor.WithPatterns(patterns)
		s.host.Redact(s.redactor)
	}
	return nil
}

// redactEvent removes secrets from an event before it is journaled.
func (s *session) redactEvent(e event.Event) event.Event { return redaction.Event(s.redactor, e) }

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

// redactDiagnostics removes secrets from diagnostics, which may quote files of the project.
func (e *Engine) redactDiagnostics(ds Diagnostics) Diagnostics {
	clean := slices.Clone(ds)
	for i := range clean {
		clean[i].Message, clean[i].Hint = e.redactor.Text(ds[i].Message), e.redactor.Text(ds[i].Hint)
	}
	return clean
}
