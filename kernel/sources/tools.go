package sources

import (
	"regexp"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// programName matches a program name without a path.
var programName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// readMode reads the locality of models; "" if absent. It applies to a whole pipeline: another node could send out the
// data that one node must not.
func readMode(m dialect.Map, owner PolicyOwner) string {
	mode := dialect.ReadChoice[string](m, "mode", &dialect.Policy)
	if mode != "" && owner != PipelinePolicy {
		m.Errorf(m.KeyPos("mode"), yamldoc.CodeConflict, "write it in the pipeline's policy", "mode applies to a whole pipeline")
		return ""
	}
	return mode
}

// readTools reads the limits of the agents' tools; nil if absent.
func readTools(m dialect.Map) *plan.Tools {
	inner, ok := m.MapAt("tools")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Tools)
	t := &plan.Tools{CommandTimeout: inner.SecondsOr("command_timeout", "the provider's own limit")}
	t.MaxResultTokens, _ = inner.Count("max_result_tokens")
	items, isSet := inner.List("allowed_commands")
	if !isSet {
		return t
	}
	t.AllowedCommands = []string{}
	for _, item := range items {
		switch {
		case item.Kind != yamldoc.Text:
			inner.WrongItem(item, "a command", "the name of a program")
		case !programName.MatchString(item.Source):
			inner.Errorf(item.Pos, yamldoc.CodeChoice, "write the name of a program, without a path or arguments", "%q is not the name of a program", item.Source)
		case !slices.Contains(t.AllowedCommands, item.Source):
			t.AllowedCommands = append(t.AllowedCommands, item.Source)
		}
	}
	return t
}
