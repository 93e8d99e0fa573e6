package sources

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// readSecrets reads the patterns of secrets beside the built-in ones; nil if absent.
func readSecrets(m dialect.Map) *plan.Secrets {
	inner, ok := m.MapAt("secrets")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Secrets)
	items, ok := inner.List("patterns")
	if !ok {
		return nil
	}
	s := &plan.Secrets{}
	for _, item := range items {
		if checkSecretPattern(inner, item) {
			s.Patterns = append(s.Patterns, item.Source)
		}
	}
	return s
}

// checkSecretPattern reports an invalid pattern. The message does not quote it: it may reveal the secret.
func checkSecretPattern(m dialect.Map, item *yamldoc.Node) bool {
	if item.Kind != yamldoc.Text {
		m.WrongItem(item, "a pattern in patterns", "text")
		return false
	}
	pattern, err := regexp.Compile(item.Source)
	var fault *syntax.Error
	switch {
	case errors.As(err, &fault):
		m.Errorf(item.Pos, yamldoc.CodePattern, "patterns are RE2: no look-around and no back references; write them in single quotes", "invalid pattern of a secret: %s", fault.Code)
	case err != nil:
		m.Errorf(item.Pos, yamldoc.CodePattern, "", "invalid pattern of a secret")
	case pattern.MatchString(""):
		m.Errorf(item.Pos, yamldoc.CodePattern, "write the prefix or the length of the secret", "a pattern of a secret matches the empty text")
		return false
	}
	return err == nil
}
