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

// redactor knows the secrets of the user's environment, and those that the settings hand to components.
func (c *config) redactor(said allSettings) *redact.Redactor {
	known := slices.Clone(c.environ)
	for _, p := range slices.Concat(said.over, said.project.Providers, said.user.Providers) {
		known = append(known, named("", p.Config)...)
	}
	for _, n := range said.layers().Notify() {
		known = append(known, named("", n.Config)...)
	}
	return redact.New(known)
}

// word is one of letters alone, such as a setting of a plugin (auth: oauth) or the name of a variable: in other texts
// it would be found where it means nothing.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,23}$`)

// named are the texts of a JSON value as "name=value", with the name of the member that holds each. One that begins
// with a word for how it is used, as headers do, is there without that word, too.
func named(name string, doc json.RawMessage) []string {
	var object map[string]json.RawMessage
	var list []json.RawMessage
	var text string
	var all []string
	switch {
	case json.Unmarshal(doc, &text) == nil:
		if strings.Contains(text, "${") || word.MatchString(text) {
			return nil
		}
		all = append(all, name+"="+text)
		if _, behind, found := strings.Cut(text, " "); found {
			all = append(all, name+"="+behind)
		}
	case json.Unmarshal(doc, &object) == nil:
		for member, value := range object {
			all = append(all, named(member, value)...)
		}
	case json.Unmarshal(doc, &list) == nil:
		for _, value := range list {
			all = append(all, named(name, value)...)
		}
	}
	return all
}

// heed makes the session follow a plan, with what that says of secrets.
func (s *session) heed(p *plan.Plan) error {
	var patterns []*regexp.Regexp
	for _, text := range p.SecretPatterns() {
		compiled, err := regexp.Compile(text)
		if err != nil { // of a plan that no compilation made
			return failure.New(failure.ConfigInvalid, "policy.secrets.patterns of session '%s': %w", s.name, err)
		}
		patterns = append(patterns, compiled)
	}
	s.plan = p
	if len(patterns) > 0 {
		s.redactor = s.engine.redactor.Matching(patterns)
		s.host.Redact(s.redactor)
	}
	return nil
}

// redacted is an event as it may be journaled.
func (s *session) redacted(e event.Event) event.Event { return redaction.Event(s.redactor, e) }

// withoutSecrets is the plan of a run that a person's words for the agent went into: they are kept in the session's
// directory and sent to whoever makes the model.
func (s *session) withoutSecrets(p *plan.Plan) *plan.Plan {
	o := p.Pipeline.Overrides
	if o == nil || s.redactor.Agent().Text(o.Context) == o.Context {
		return p
	}
	clean, said := *p, *o
	said.Context = s.redactor.Agent().Text(o.Context)
	clean.Pipeline.Overrides = &said
	return &clean
}

// clean are diagnostics without secrets: what they quote stands in files of the project.
func (e *Engine) clean(ds Diagnostics) Diagnostics {
	clean := slices.Clone(ds)
	for i := range clean {
		clean[i].Message, clean[i].Hint = e.redactor.Text(ds[i].Message), e.redactor.Text(ds[i].Hint)
	}
	return clean
}
