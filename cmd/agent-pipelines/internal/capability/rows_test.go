package capability

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestRows(t *testing.T) {
	names := []string{
		"Models", "Known models", "Default model", "Context", "Effort", "Locality", "Reports tool calls", "Asks for approval",
		"Token usage", "Cost in dollars", "Resume", "Cancel", "Sandbox", "Concurrency", "Capabilities", "Asks for",
	}
	for _, tt := range []struct {
		name      string
		component sdk.Component
		want      []string
	}{
		{
			"a provider that declares nothing",
			sdk.Component{Provider: &sdk.ProviderTraits{}},
			[]string{
				"any", "none", "none", "not said", "no setting", "remote", "no", "no", "no", "no", "starts over", "may leave processes",
				"not required", "calls overlap", "none", "nothing",
			},
		},
		{
			"one that declares all",
			sdk.Component{
				Concurrency: sdk.ConcurrencySerial, Capabilities: []string{"x", "y"},
				Provider: &sdk.ProviderTraits{
					Models: []string{"m", "n"}, DefaultModel: "m", ModelChoice: sdk.ModelsConfigurable, Locality: sdk.LocalityLocal,
					Efforts: []string{"low", "high"}, DefaultEffort: "low", GatedTools: true, ObservedTools: true,
					Usage: sdk.ReportsAlways, Cost: sdk.ReportsSome, Resume: true, SoftCancel: true, RequiresSandbox: true, NestedSandbox: true,
					ContextTokens: 32_000,
				},
			},
			[]string{
				"the known ones, others by configuration", "m, n", "m", "32000 tokens", "low (default), high", "local", "yes", "yes", "yes",
				"depends on model or configuration", "from its last checkpoint", "ends with all it started", "required, brings its own",
				"one call at a time", "x, y", "nothing",
			},
		},
		{
			"one of an older kit",
			sdk.Component{Provider: &sdk.ProviderTraits{Models: []string{"m"}, ReasoningEffort: true, GatedTools: true}},
			[]string{
				"the known ones", "m", "none", "not said", "yes, its values are not listed", "remote", "yes", "yes", "no", "no", "starts over",
				"may leave processes", "not required", "calls overlap", "none", "nothing",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []Row
			for i, value := range tt.want {
				want = append(want, Row{names[i], value})
			}
			if diff := cmp.Diff(want, Rows(tt.component)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNeedsAreShown(t *testing.T) {
	c := sdk.Component{Kind: sdk.KindHookAction, Needs: &sdk.Needs{Network: true, Commands: true, Read: []string{"~/r"}, Write: []string{"/w"}}}
	got := Rows(c)
	if want := (Row{"Asks for", "network, your own commands, reading ~/r, writing /w"}); got[len(got)-1] != want {
		t.Errorf("got %+v", got)
	}
}

func TestRowsOfAStrategy(t *testing.T) {
	want := []Row{{"Concurrency", "calls overlap"}, {"Capabilities", "none"}, {"Asks for", "nothing"}}
	if diff := cmp.Diff(want, Rows(sdk.Component{Kind: sdk.KindTermination})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
