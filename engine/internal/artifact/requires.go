package artifact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// RequiredFields returns the fields that a node requires of its effective input: those required of the input's node
// and those required of any node. Fields required of the start count only if the run began with this node and there
// is no other artifact.
func (e NodeInput) RequiredFields(requires map[string][]string, began bool) []string {
	var fields []string
	switch {
	case e.From == plan.RequiresStart && began:
		fields = requires[plan.RequiresStart]
	case e.From != plan.RequiresStart && e.From != "":
		fields = slices.Concat(requires[e.From], requires[plan.RequiresAny])
	}
	var once []string
	for _, field := range fields {
		if !slices.Contains(once, field) {
			once = append(once, field)
		}
	}
	return once
}

// MissingFields returns the fields that the effective input lacks, and its null fields.
func (e NodeInput) MissingFields(fields []string) (missing, null []string) {
	for _, field := range fields {
		switch v, ok := Lookup(e.Data, field); {
		case !ok:
			missing = append(missing, field)
		case v == nil:
			null = append(null, field)
		}
	}
	return missing, null
}

// RequirementError returns the error of an effective input that lacks fields which the node requires.
func (e NodeInput) RequirementError(node string, missing []string) error {
	faults := make([]schema.Fault, len(missing))
	for i, field := range missing {
		faults[i] = schema.Fault{Path: "$." + field, Code: schema.CodeMissing, Message: fmt.Sprintf("is missing: %s requires it of %s", node, e.Name())}
	}
	f := failure.New(failure.ResultInvalid, "%s cannot begin: %s lacks %s", node, e.Name(), strings.Join(missing, ", "))
	hint := "let %s make the fields, carry them (artifact.carry), or remove them from requires of %s, in a new session"
	if e.From == plan.RequiresStart {
		return &ContractError{faults, f.WithHint("start a new run with %[1]s <field>=<file>, or with the artifact of an earlier node: %[1]s <node>=<file>", failure.Option("artifact"))}
	}
	return &ContractError{faults, f.WithHint(hint, e.From, node)}
}

// Name returns the input's name for messages.
func (e NodeInput) Name() string {
	if e.From == plan.RequiresStart {
		return "the run's input"
	}
	return "the artifact of " + e.From
}

// SkippedArtifact returns the artifact of a skipped node: the carried fields of its contract, then its defaults
// (defaults_from) for missing fields. It shares values with the input.
func (e NodeInput) SkippedArtifact(contract *plan.Artifact) map[string]any {
	data := map[string]any{}
	Carry(data, e.Data, contract)
	for target, source := range contract.DefaultsFrom {
		v, ok := Lookup(e.Data, source)
		if _, has := Lookup(data, target); ok && !has {
			setField(data, strings.Split(target, "."), v)
		}
	}
	return data
}
