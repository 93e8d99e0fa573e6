package artifact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Demanded are the fields that a node requires of its effective input: what it says about the node whose artifact that
// is, and about any. What it says about the start counts where the run began with the node, and there is no other
// artifact. A node about which nothing is said demands nothing.
func (e Effective) Demanded(requires map[string][]string, began bool) []string {
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

// Lacks are the fields of a list that the effective input does not have, and those that are there and null.
func (e Effective) Lacks(fields []string) (missing, null []string) {
	for _, field := range fields {
		switch v, there := Lookup(e.Data, field); {
		case !there:
			missing = append(missing, field)
		case v == nil:
			null = append(null, field)
		}
	}
	return missing, null
}

// Unfit is the error about an effective input without fields that the node with the id requires.
func (e Effective) Unfit(node string, missing []string) error {
	faults := make([]schema.Fault, len(missing))
	for i, field := range missing {
		faults[i] = schema.Fault{Path: "$." + field, Code: schema.CodeMissing, Message: fmt.Sprintf("is missing: %s requires it of %s", node, e.Name())}
	}
	f := failure.New(failure.ResultInvalid, "%s cannot begin: %s lacks %s", node, e.Name(), strings.Join(missing, ", "))
	hint := "let %s make the fields, or carry them over (artifact.carry), or take them out of requires of %s, in a new session"
	if e.From == plan.RequiresStart {
		return &Bad{faults, f.WithHint("start anew with them: --artifact <field>=<file>, or with the artifact of an earlier node: --artifact <node>=<file>")}
	}
	return &Bad{faults, f.WithHint(hint, e.From, node)}
}

// Name is what the input is called in messages.
func (e Effective) Name() string {
	if e.From == plan.RequiresStart {
		return "what the run began with"
	}
	return "the artifact of " + e.From
}

// Passed is the artifact of a node that is skipped: what its contract carries over, then its defaults (defaults_from)
// where those fields are missing. Values are shared with the input.
func (e Effective) Passed(contract *plan.Artifact) map[string]any {
	data := map[string]any{}
	Carry(data, e.Data, contract)
	for target, source := range contract.DefaultsFrom {
		v, there := Lookup(e.Data, source)
		if _, has := Lookup(data, target); there && !has {
			set(data, strings.Split(target, "."), v)
		}
	}
	return data
}
