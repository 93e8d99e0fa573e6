package compile

import (
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// programName is a program without a path.
var programName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// mode reads where the models of a pipeline may be, "" if nothing is said. It holds for a whole pipeline: what one
// node must not send away another could.
func (m object) mode(of policyOwner) string {
	mode := oneOf[string](m, "mode", &dialect.Policy)
	if mode != "" && of != pipelinePolicy {
		m.Errorf(m.keyPos("mode"), diagnostic.CodeConflict, "say it in the pipeline's policy", "mode holds for a whole pipeline")
		return ""
	}
	return mode
}

// tools reads the limits of agents' own tools, nil if nothing is said.
func (m object) tools() *plan.Tools {
	inner, ok := m.objectAt("tools")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Tools)
	t := &plan.Tools{CommandTimeout: inner.secondsOr("command_timeout", "the provider's own limit")}
	t.MaxResultTokens, _ = inner.count("max_result_tokens")
	items, said := inner.list("allowed_commands")
	if !said {
		return t
	}
	t.AllowedCommands = []string{}
	for _, item := range items {
		switch {
		case item.Kind != yamldoc.Text:
			inner.wrongType(value{item, "a command"}, "the name of a program")
		case !programName.MatchString(item.Source):
			inner.Errorf(item.Pos, diagnostic.CodeWord, "write the name of a program, without a path or arguments", "%q is no name of a program", item.Source)
		case !slices.Contains(t.AllowedCommands, item.Source):
			t.AllowedCommands = append(t.AllowedCommands, item.Source)
		}
	}
	return t
}

// Locator is implemented by a [Catalog] that knows where the models of providers are.
type Locator interface {
	// Locality is where the model behind a provider is, "" if that is not known.
	Locality(provider string) sdk.Locality
}

// checkMode refuses a provider whose model is elsewhere, under a mode that allows local ones alone.
func (c *compiler) checkMode(provider string, at location) {
	l, ok := c.Catalog.(Locator)
	if !ok || !plan.LocalMode(c.mode) || l.Locality(provider) != sdk.LocalityRemote {
		return
	}
	at.errorf(diagnostic.CodeMode, "use a provider with a local model, such as agent, or another mode", "provider %s asks a remote model, which mode %s does not allow", provider, c.mode)
}
