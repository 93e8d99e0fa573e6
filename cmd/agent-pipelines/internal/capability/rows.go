package capability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Row is one trait: its name and the component's value.
type Row struct{ Name, Value string }

// KnownModels is the name of the row that lists a provider's models, which may be many.
const KnownModels = "Known models"

// Rows returns the traits of a component in a fixed order, those of a provider first. All providers have the
// same rows.
func Rows(c sdk.Component) []Row {
	var rows []Row
	if c.Provider != nil {
		rows = providerRows(c.Provider.WithDefaults())
	}
	concurrency := "calls overlap"
	if c.Concurrency == sdk.ConcurrencySerial {
		concurrency = "one call at a time"
	}
	return append(rows, Row{"Concurrency", concurrency}, Row{"Capabilities", listed(c.Capabilities, "")}, Row{"Asks for", needs(c.Needs)})
}

// needs describes the permissions that a confined component asks for.
func needs(n *sdk.Needs) string {
	if n.IsEmpty() {
		return "nothing"
	}
	var asks []string
	if n.Network {
		asks = append(asks, "network")
	}
	if n.Commands {
		asks = append(asks, "your own commands")
	}
	for _, p := range n.Read {
		asks = append(asks, "reading "+p)
	}
	for _, p := range n.Write {
		asks = append(asks, "writing "+p)
	}
	switch {
	case slices.Contains(n.Environment, sdk.AllVariables):
		asks = append(asks, "your environment without secrets")
	case len(n.Environment) > 0:
		asks = append(asks, "the variables "+strings.Join(n.Environment, ", "))
	}
	return strings.Join(asks, ", ")
}

func providerRows(t sdk.ProviderTraits) []Row {
	return []Row{
		{"Models", modelChoice(t.ModelChoice)},
		{KnownModels, listed(t.Models, "")},
		{"Default model", cmp.Or(t.DefaultModel, "none")},
		{"Context", context(t)},
		{"Effort", effort(t)},
		{"Locality", string(t.Locality)},
		{"Reports tool calls", yes(t.ObservedTools || t.GatedTools)},
		{"Asks for approval", yes(t.GatedTools)},
		{"Token usage", reporting(t.Usage)},
		{"Cost in dollars", reporting(t.Cost)},
		{"Resume", choose(t.Resume, "from its last checkpoint", "starts over")},
		{"Cancel", choose(t.SoftCancel, "ends with all it started", "may leave processes")},
		{"Sandbox", sandbox(t)},
	}
}

func modelChoice(m sdk.ModelChoice) string {
	switch m {
	case sdk.ModelsListed:
		return "the known ones"
	case sdk.ModelsConfigurable:
		return "the known ones, others by configuration"
	default:
		return "any"
	}
}

func context(t sdk.ProviderTraits) string {
	if t.ContextTokens == 0 {
		return "not said"
	}
	return fmt.Sprintf("%d tokens", t.ContextTokens)
}

func effort(t sdk.ProviderTraits) string {
	switch {
	case !t.ReasoningEffort:
		return "no setting"
	case len(t.Efforts) == 0:
		return cmp.Or(t.DefaultEffort, "yes, its values are not listed")
	default:
		return listed(t.Efforts, t.DefaultEffort)
	}
}

func reporting(r sdk.Reporting) string {
	switch r {
	case sdk.ReportsAlways:
		return "yes"
	case sdk.ReportsSome:
		return "depends on model or configuration"
	default:
		return "no"
	}
}

func sandbox(t sdk.ProviderTraits) string {
	required := choose(t.RequiresSandbox, "required", choose(t.ConfinedByDefault, "workspace by default", "not required"))
	if t.NestedSandbox {
		return required + ", brings its own"
	}
	return required
}

// listed joins words and marks the default among them.
func listed(words []string, chosen string) string {
	if len(words) == 0 {
		return "none"
	}
	words = slices.Clone(words)
	for i, w := range words {
		if w == chosen {
			words[i] = w + " (default)"
		}
	}
	return strings.Join(words, ", ")
}

func yes(b bool) string { return choose(b, "yes", "no") }

func choose(b bool, then, otherwise string) string {
	if b {
		return then
	}
	return otherwise
}
