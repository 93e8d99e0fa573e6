package compile

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// secrets reads what is a secret besides what always is one, nil if nothing is said.
func (m object) secrets() *plan.Secrets {
	inner, ok := m.objectAt("secrets")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Secrets)
	items, ok := inner.list("patterns")
	if !ok {
		return nil
	}
	s := &plan.Secrets{}
	for _, item := range items {
		if inner.checkPattern(item) {
			s.Patterns = append(s.Patterns, item.Source)
		}
	}
	return s
}

// checkPattern reports what is wrong with a pattern, without saying it: it may tell what the secret is.
func (m object) checkPattern(item *yamldoc.Node) bool {
	if item.Kind != yamldoc.Text {
		m.wrongType(value{item, "a pattern in patterns"}, "text")
		return false
	}
	pattern, err := regexp.Compile(item.Source)
	var fault *syntax.Error
	switch {
	case errors.As(err, &fault):
		m.Errorf(item.Pos, diagnostic.CodePattern, "patterns are RE2: no look-around and no back references; write them in single quotes", "a pattern of a secret is none: %s", fault.Code)
	case err != nil:
		m.Errorf(item.Pos, diagnostic.CodePattern, "", "a pattern of a secret is none")
	case pattern.MatchString(""):
		m.Errorf(item.Pos, diagnostic.CodePattern, "write what the secret begins with, or how long it is", "a pattern of a secret matches the empty text")
		return false
	}
	return err == nil
}
