package plugintest

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/record"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify"
)

// Exchange records a provider's reports and answers its gated calls. The zero value lets every call run and stores
// every checkpoint. Set the fields before the first use; the methods are safe for concurrent use.
type Exchange = record.Exchange

// Record is the list of all reports, each kind in order of arrival.
type Record = record.Record

// Case is one call of a provider.
type Case = verify.Attempt

// DecideCase is a decision with its expected action.
type DecideCase = verify.DecideCase

// HookCase is a firing of a hook with its expected action. An empty Want means continue.
type HookCase = verify.HookCase

// ProviderConfig holds the cases for the conformance suite of a provider.
type ProviderConfig struct {
	// New returns a new provider for each row. Required.
	New func(testing.TB) sdk.Provider
	// Normal succeeds with some output.
	Normal Case
	// Slow does not end within a minute, so that it can be cancelled.
	Slow Case
	// Large has a prompt or a configuration that makes the output exceed 4 MiB. A shorter prompt is
	// padded with spaces to more than 4 MiB.
	Large Case
	// Full succeeds and shows every declared trait: usage, observed and gated tool calls, and a
	// checkpoint between finished gated calls. Default: Normal.
	Full *Case
	// Refused are configurations, besides invalid JSON, that Validate must refuse.
	Refused []json.RawMessage
}

// Provider runs the conformance suite on a provider.
func Provider(t *testing.T, cfg ProviderConfig) {
	t.Helper()
	build := func() sdk.Plugin { return sdk.Plugin{Providers: []sdk.Provider{cfg.New(t)}} }
	cfg.Large.Prompt += strings.Repeat(" ", max(0, 4<<20+1-len(cfg.Large.Prompt)))
	conforms(t, build, verify.Cases{Providers: map[string]verify.ProviderCases{cfg.New(t).Describe().Name: {
		Normal: &cfg.Normal, Slow: &cfg.Slow, Large: &cfg.Large, Full: cmp.Or(cfg.Full, &cfg.Normal), Refused: cfg.Refused, Free: true,
	}}})
}

// TerminationConfig holds the cases for the conformance suite of a strategy.
type TerminationConfig struct {
	// New returns a new strategy for each row. Required.
	New func(testing.TB) sdk.Termination
	// Config is a configuration that the strategy accepts.
	Config json.RawMessage
	// Cases are decisions; at least one.
	Cases []DecideCase
	// Refused are configurations, besides invalid JSON, that Validate must refuse.
	Refused []json.RawMessage
}

// Termination runs the conformance suite on a termination strategy.
func Termination(t *testing.T, cfg TerminationConfig) {
	t.Helper()
	build := func() sdk.Plugin { return sdk.Plugin{Terminations: []sdk.Termination{cfg.New(t)}} }
	conforms(t, build, verify.Cases{Terminations: map[string]verify.DecideCases{cfg.New(t).Describe().Name: {
		Config: cfg.Config, Decisions: cfg.Cases, Refused: cfg.Refused, Free: true,
	}}})
}

// HookActionConfig holds the cases for the conformance suite of a hook action.
type HookActionConfig struct {
	// New returns a new action for each row. Required.
	New func(testing.TB) sdk.HookAction
	// Config is a configuration that the action accepts.
	Config json.RawMessage
	// Cases are firings; at least one.
	Cases []HookCase
	// Refused are configurations, besides invalid JSON, that Validate must refuse.
	Refused []json.RawMessage
}

// HookAction runs the conformance suite on a hook action.
func HookAction(t *testing.T, cfg HookActionConfig) {
	t.Helper()
	firings := make([]verify.HookCase, 0, len(cfg.Cases))
	for _, c := range cfg.Cases {
		c.Want = cmp.Or(c.Want, sdk.ActionContinue)
		firings = append(firings, c)
	}
	build := func() sdk.Plugin { return sdk.Plugin{HookActions: []sdk.HookAction{cfg.New(t)}} }
	conforms(t, build, verify.Cases{HookActions: map[string]verify.HookCases{cfg.New(t).Describe().Name: {
		Config: cfg.Config, Firings: firings, Refused: cfg.Refused, Free: true,
	}}})
}

// conforms makes each row a subtest and checks that no goroutine is left.
func conforms(t *testing.T, build func() sdk.Plugin, cases verify.Cases) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	report, err := verify.Components(t.Context(), func() sdk.Plugin {
		p := build()
		p.Name, p.Version = "conformance", "1.0.0"
		return p
	}, cases)
	if err != nil {
		t.Fatal(err)
	}
	subtests(t, report)
	goleak.VerifyNone(t, before)
}

// subtests makes each row of a report a subtest.
func subtests(t *testing.T, report verify.Report) {
	t.Helper()
	for _, row := range report.Rows {
		name := row.ID
		if row.Component != "" {
			name += "/" + row.Component
		}
		t.Run(name, func(t *testing.T) {
			switch row.Result {
			case verify.Fail:
				t.Errorf("%s\nseen: %s\ndo: %s", row.Title, row.Seen, row.Do)
			case verify.NotApplicable:
				t.Logf("not applicable: %s; give: %s", row.Seen, row.Do)
			case verify.Pass:
				t.Log(row.Seen)
			}
		})
	}
}

// SchemaKeys requires that a configuration's JSON Schema has exactly the keys of the configuration's struct and the
// further keys. It returns the strings in the enum of each key.
func SchemaKeys(t *testing.T, schema []byte, config any, further ...string) (words map[string][]string) {
	t.Helper()
	var object struct {
		Properties map[string]struct{ Enum []json.RawMessage }
	}
	if err := json.Unmarshal(schema, &object); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(config)) {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "" {
			keys[key] = true
		}
	}
	for _, key := range further {
		keys[key] = true
	}
	words = map[string][]string{}
	for key, property := range object.Properties {
		for _, raw := range property.Enum {
			var word string
			if json.Unmarshal(raw, &word) == nil {
				words[key] = append(words[key], word)
			}
		}
	}
	read, declared := slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(object.Properties))
	if !slices.Equal(read, declared) {
		t.Errorf("the configuration reads %q, the schema declares %q", read, declared)
	}
	return words
}
