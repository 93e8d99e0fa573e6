package sources

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// checkSecrets checks the patterns of secrets that the policy adds to the built-in ones. It returns nil without the key
// patterns.
func checkSecrets(policy dialect.Map, s *plan.Secrets) *plan.Secrets {
	m, _ := policy.Peek("secrets")
	if v := m.Get("patterns"); v.Node == nil || v.Kind != yamldoc.List {
		return nil
	}
	for _, item := range m.PeekItems("patterns") {
		checkSecretPattern(m, item)
	}
	return s
}

// checkSecretPattern reports an invalid pattern. The message omits the pattern, which may reveal the secret.
func checkSecretPattern(m dialect.Map, item *yamldoc.Node) {
	if item.Kind != yamldoc.Text {
		return // already reported
	}
	pattern, err := regexp.Compile(item.Source)
	var fault *syntax.Error
	switch {
	case errors.As(err, &fault):
		m.Errorf(item.Pos, yamldoc.CodePattern, "patterns are RE2: no look-around and no back references; write them in single quotes", "invalid pattern of a secret: %s", fault.Code)
	case err != nil:
		m.Errorf(item.Pos, yamldoc.CodePattern, "", "invalid pattern of a secret")
	case pattern.MatchString(""):
		m.Errorf(item.Pos, yamldoc.CodePattern, "make the pattern require the prefix of the secret, or a minimum length", "a pattern of a secret matches the empty text")
	}
}
