package describe

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/wire"
)

// SDK is the name and version of this SDK in descriptions.
const SDK = "go/0.1.0"

// Build returns the description of p, with kinds and defaults filled in, ordered by kind and name.
func Build(p sdk.Plugin) (sdk.Description, error) {
	d := sdk.Description{
		Name:      p.Name,
		Version:   p.Version,
		Protocols: []int{wire.Protocol},
		SDK:       SDK,
		MTLS:      true,
	}
	add := func(kind sdk.Kind, c sdk.Component) {
		c.Kind = kind
		d.Components = append(d.Components, c)
	}
	for _, c := range p.Providers {
		add(sdk.KindProvider, c.Describe())
	}
	for _, c := range p.Terminations {
		add(sdk.KindTermination, c.Describe())
	}
	for _, c := range p.HookActions {
		add(sdk.KindHookAction, c.Describe())
	}
	slices.SortStableFunc(d.Components, func(a, b sdk.Component) int {
		return cmp.Or(cmp.Compare(rank(a.Kind), rank(b.Kind)), cmp.Compare(a.Name, b.Name))
	})
	d = Complete(d)
	return d, Check(d)
}

// Complete returns the description with all defaults filled in, so that every reader sees them.
func Complete(d sdk.Description) sdk.Description {
	d.Components = slices.Clone(d.Components)
	for i := range d.Components {
		c := &d.Components[i]
		c.Concurrency = cmp.Or(c.Concurrency, sdk.ConcurrencySafe)
		if c.Kind == sdk.KindProvider {
			traits := cmp.Or(c.Provider, &sdk.ProviderTraits{}).WithDefaults()
			c.Provider = &traits
		}
	}
	return d
}

func rank(k sdk.Kind) int {
	return slices.Index([]sdk.Kind{sdk.KindProvider, sdk.KindTermination, sdk.KindHookAction}, k)
}

// Check returns all faults of a description, or nil.
func Check(d sdk.Description) error {
	var faults []error
	if !validName(d.Name) {
		faults = append(faults, fmt.Errorf("plugin name %q: %s", d.Name, nameRule))
	}
	if !validVersion(d.Version) {
		faults = append(faults, fmt.Errorf("plugin version %q: want a semantic version such as 1.0.0", d.Version))
	}
	if len(d.Components) == 0 {
		faults = append(faults, errors.New("the plugin has no component; give it a provider, a termination or a hook action"))
	}
	taken := map[wire.Ref]bool{}
	for _, c := range d.Components {
		faults = append(faults, checkComponent(c, taken)...)
	}
	return errors.Join(faults...)
}

// checkComponent returns the faults of c and adds its names to taken.
func checkComponent(c sdk.Component, taken map[wire.Ref]bool) []error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s %q: "+format, append([]any{c.Kind, c.Name}, args...)...))
	}
	for _, name := range append([]string{c.Name}, c.Aliases...) {
		if !validName(name) {
			fault("name %q: %s", name, nameRule)
		}
		if taken[wire.Ref{Kind: c.Kind, Name: name}] {
			fault("the name %q is taken by another %s", name, c.Kind)
		}
		taken[wire.Ref{Kind: c.Kind, Name: name}] = true
	}
	if rank(c.Kind) < 0 {
		fault("unknown kind")
	}
	if len(c.ConfigSchema) > 0 && !validSchema(c.ConfigSchema) {
		fault("config_schema is not a JSON Schema; it must be a JSON object or a boolean")
	}
	if !slices.Contains([]sdk.Concurrency{"", sdk.ConcurrencySafe, sdk.ConcurrencySerial}, c.Concurrency) {
		fault("concurrency %q; want safe or serial", c.Concurrency)
	}
	if err := checkNeeds(c.Needs); err != nil {
		fault("needs: %w", err)
	}
	if c.Provider == nil {
		return faults
	}
	if c.Kind != sdk.KindProvider {
		fault("only providers have provider traits")
	}
	for _, f := range checkTraits(*c.Provider) {
		fault("%s", f)
	}
	return faults
}

// checkNeeds returns an error for each invalid entry, joined.
func checkNeeds(n *sdk.Needs) error {
	if n == nil {
		return nil
	}
	var faults []error
	for _, p := range slices.Concat(n.Read, n.Write) {
		faults = append(faults, sdk.CheckNeed(p))
	}
	for _, name := range n.Environment {
		faults = append(faults, sdk.CheckVariable(name))
	}
	return errors.Join(faults...)
}

// checkTraits checks the values of the enumerations. Package plugintest tests whether the provider
// keeps its declarations.
func checkTraits(t sdk.ProviderTraits) []string {
	var faults []string
	if !slices.Contains([]sdk.Locality{"", sdk.LocalityLocal, sdk.LocalityRemote, sdk.LocalityConfigured}, t.Locality) {
		faults = append(faults, fmt.Sprintf("locality %q; want local, remote or configured", t.Locality))
	}
	if !slices.Contains([]sdk.ModelChoice{"", sdk.ModelsAny, sdk.ModelsListed, sdk.ModelsConfigurable}, t.ModelChoice) {
		faults = append(faults, fmt.Sprintf("model_choice %q; want any, listed or configurable", t.ModelChoice))
	}
	reporting := []sdk.Reporting{"", sdk.ReportsNever, sdk.ReportsSome, sdk.ReportsAlways}
	if !slices.Contains(reporting, t.Usage) {
		faults = append(faults, fmt.Sprintf("usage %q; want never, some or always", t.Usage))
	}
	if !slices.Contains(reporting, t.Cost) {
		faults = append(faults, fmt.Sprintf("cost %q; want never, some or always", t.Cost))
	}
	return faults
}

const nameRule = "want lower case letters, digits, '-' and '_', beginning with a letter or digit, at most 64"

var (
	namePattern    = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	versionPattern = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
)

func validName(s string) bool { return len(s) <= 64 && namePattern.MatchString(s) }

// validVersion follows semver.org 2.0.0, but accepts leading zeros and empty identifiers.
func validVersion(s string) bool { return versionPattern.MatchString(s) }

// validSchema checks only the form: draft 2020-12 allows an object or a boolean.
func validSchema(raw json.RawMessage) bool {
	var schema any
	if json.Unmarshal(raw, &schema) != nil {
		return false
	}
	switch schema.(type) {
	case map[string]any, bool:
		return true
	default:
		return false
	}
}
