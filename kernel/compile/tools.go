package compile

import (
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// programName matches a program name without a path.
var programName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// mode reads the locality of models; "" if absent. It applies to a whole pipeline: another node could send out the
// data that one node must not.
func (m object) mode(owner policyOwner) string {
	mode := oneOf[string](m, "mode", &dialect.Policy)
	if mode != "" && owner != pipelinePolicy {
		m.Errorf(m.keyPos("mode"), yamldoc.CodeConflict, "write it in the pipeline's policy", "mode applies to a whole pipeline")
		return ""
	}
	return mode
}

// tools reads the limits of the agents' tools; nil if absent.
func (m object) tools() *plan.Tools {
	inner, ok := m.objectAt("tools")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Tools)
	t := &plan.Tools{CommandTimeout: inner.secondsOr("command_timeout", "the provider's own limit")}
	t.MaxResultTokens, _ = inner.count("max_result_tokens")
	items, isSet := inner.list("allowed_commands")
	if !isSet {
		return t
	}
	t.AllowedCommands = []string{}
	for _, item := range items {
		switch {
		case item.Kind != yamldoc.Text:
			inner.wrongType(value{item, "a command"}, "the name of a program")
		case !programName.MatchString(item.Source):
			inner.Errorf(item.Pos, yamldoc.CodeChoice, "write the name of a program, without a path or arguments", "%q is not the name of a program", item.Source)
		case !slices.Contains(t.AllowedCommands, item.Source):
			t.AllowedCommands = append(t.AllowedCommands, item.Source)
		}
	}
	return t
}

// Locator is implemented by a [Catalog] that knows the locality of models.
type Locator interface {
	// Locality returns the locality of a provider's model; "" if it is unknown.
	Locality(provider string) sdk.Locality
}

// checkMode reports a provider with a remote model under a mode that allows only local models.
func (c *compiler) checkMode(provider string, at location) {
	l, ok := c.Catalog.(Locator)
	if !ok || !plan.LocalMode(c.mode) || l.Locality(provider) != sdk.LocalityRemote {
		return
	}
	at.errorf(yamldoc.CodeMode, "use a provider with a local model, such as agent, or another mode", "provider %s uses a remote model, which mode %s does not allow", provider, c.mode)
}
