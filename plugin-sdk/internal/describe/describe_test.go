package describe

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

type provider struct{ component sdk.Component }

func (p provider) Describe() sdk.Component { return p.component }

func (provider) Execute(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
	return sdk.ExecuteResult{}, nil
}

type action struct{ component sdk.Component }

func (a action) Describe() sdk.Component { return a.component }

func (action) Run(context.Context, sdk.HookRequest) (sdk.HookAnswer, error) {
	return sdk.HookAnswer{}, nil
}

func TestBuildFillsAndSorts(t *testing.T) {
	got, err := Build(sdk.Plugin{
		Name: "x", Version: "1.0.0-rc.1+build",
		Providers: []sdk.Provider{
			provider{sdk.Component{Name: "b", Concurrency: sdk.ConcurrencySerial}},
			provider{sdk.Component{Name: "a", Provider: &sdk.ProviderTraits{
				Locality: sdk.LocalityLocal, Models: []string{"m"}, Efforts: []string{"low"},
			}}},
		},
		HookActions: []sdk.HookAction{action{sdk.Component{Name: "a", Kind: "nonsense"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := sdk.Description{
		Name: "x", Version: "1.0.0-rc.1+build", Protocols: []int{1}, SDK: SDK, MTLS: true,
		Components: []sdk.Component{
			{Kind: "provider", Name: "a", Concurrency: "safe", Provider: &sdk.ProviderTraits{
				Locality: "local", Models: []string{"m"}, ModelChoice: "listed", Usage: "never", Cost: "never",
				ReasoningEffort: true, Efforts: []string{"low"},
			}},
			{Kind: "provider", Name: "b", Concurrency: "serial", Provider: &sdk.ProviderTraits{
				Locality: "remote", ModelChoice: "any", Usage: "never", Cost: "never",
			}},
			{Kind: "hook_action", Name: "a", Concurrency: "safe"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		spoil func(*sdk.Description)
		want  string
	}{
		"name":         {func(d *sdk.Description) { d.Name = "-x" }, `plugin name "-x"`},
		"version":      {func(d *sdk.Description) { d.Version = "v1" }, `plugin version "v1"`},
		"empty":        {func(d *sdk.Description) { d.Components = nil }, "no component"},
		"component":    {func(d *sdk.Description) { d.Components[0].Name = "A B" }, `name "A B": want lower case`},
		"alias":        {func(d *sdk.Description) { d.Components[0].Aliases = []string{""} }, `name ""`},
		"alias twice":  {func(d *sdk.Description) { d.Components[0].Aliases = []string{"c"} }, `"c" is taken by another provider`},
		"unknown kind": {func(d *sdk.Description) { d.Components[0].Kind = "tool" }, "unknown kind"},
		"schema":       {func(d *sdk.Description) { d.Components[0].ConfigSchema = json.RawMessage(`{`) }, "not a JSON Schema"},
		"schema type":  {func(d *sdk.Description) { d.Components[0].ConfigSchema = json.RawMessage(`[]`) }, "not a JSON Schema"},
		"concurrency":  {func(d *sdk.Description) { d.Components[0].Concurrency = "often" }, `concurrency "often"`},
		"locality": {func(d *sdk.Description) {
			d.Components[0].Provider = &sdk.ProviderTraits{Locality: "moon"}
		}, `locality "moon"`},
		"model choice": {func(d *sdk.Description) {
			d.Components[0].Provider = &sdk.ProviderTraits{ModelChoice: "mine"}
		}, `model_choice "mine"`},
		"usage": {func(d *sdk.Description) {
			d.Components[0].Provider = &sdk.ProviderTraits{Usage: "often"}
		}, `usage "often"`},
		"cost": {func(d *sdk.Description) {
			d.Components[0].Provider = &sdk.ProviderTraits{Cost: "dear"}
		}, `cost "dear"`},
		"needs":  {func(d *sdk.Description) { d.Components[0].Needs = &sdk.Needs{Write: []string{"etc"}} }, `needs: path "etc"`},
		"traits": {func(d *sdk.Description) { d.Components[2].Provider = &sdk.ProviderTraits{} }, "only providers have"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := sdk.Description{Name: "x", Version: "1.0.0", Components: []sdk.Component{
				{Kind: sdk.KindProvider, Name: "a", Aliases: []string{"b"}, ConfigSchema: json.RawMessage(`true`)},
				{Kind: sdk.KindProvider, Name: "c"},
				{Kind: sdk.KindHookAction, Name: "a"},
			}}
			if err := Check(d); err != nil {
				t.Fatalf("unspoilt: %v", err)
			}
			tt.spoil(&d)
			if err := Check(d); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
