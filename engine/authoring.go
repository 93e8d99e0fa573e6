package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/lint"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// catalog answers the compiler's questions about components from the plugin host.
type catalog struct {
	ctx     context.Context //nolint:containedctx // it lives for one compilation, whose interface has no ctx
	host    *pluginhost.Host
	listing pluginhost.Listing
	user    providerConfigs
	// starting reports that a run follows, which checks every provider and strategy. A component of a broken
	// plugin then counts as existing, so that the run fails with the plugin's own error.
	starting bool
}

// newCatalog describes all components; plugins without a cached description are started. The user's models
// take precedence over the providers' defaults.
func newCatalog(ctx context.Context, host *pluginhost.Host, user providerConfigs) (*catalog, error) {
	listing, err := host.List(ctx)
	return &catalog{ctx: ctx, host: host, listing: listing, user: user}, err
}

// Canonical implements settings.Names.
func (c *catalog) Canonical(name string) (canonical string, ok bool) {
	canonical, _, ok = c.Provider(name)
	return canonical, ok
}

// Provider implements compile.Catalog.
func (c *catalog) Provider(name string) (canonical, defaultModel string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, name)
	if err != nil {
		return name, "", c.willFail(name)
	}
	if component.Provider != nil {
		defaultModel = component.Provider.DefaultModel
	}
	return component.Name, cmp.Or(c.user[component.Name].Model, defaultModel), true
}

// Termination implements compile.Catalog.
func (c *catalog) Termination(name string) bool {
	_, err := c.host.Component(c.ctx, sdk.KindTermination, name)
	return err == nil || c.willFail(name)
}

// willFail reports whether the run that follows will fail because of the plugin of this name.
func (c *catalog) willFail(name string) bool { return c.starting && c.host.LoadError(name) != nil }

// Advice implements compile.Adviser.
func (c *catalog) Advice(kind sdk.Kind, name string) string {
	if by, off := c.host.DisabledBy(kind, name); off {
		return fmt.Sprintf("this program serves it itself, which is turned off by %s", by)
	}
	if f := c.host.LoadError(name); f != nil {
		return fmt.Sprintf("a plugin of this name cannot be used: %s", f.Message)
	}
	return ""
}

// Models implements lint.Catalog.
func (c *catalog) Models(provider string) (known []string, only bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return nil, false
	}
	traits := component.Provider.WithDefaults()
	return traits.Models, traits.ModelChoice == sdk.ModelsListed
}

// Locality implements compile.Locator.
func (c *catalog) Locality(provider string) sdk.Locality {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return ""
	}
	return component.Provider.WithDefaults().Locality
}

// Reports implements lint.Catalog.
func (c *catalog) Reports(provider string) (usd, tokens bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true, true
	}
	traits := component.Provider.WithDefaults()
	return traits.Cost != sdk.ReportsNever, traits.Usage != sdk.ReportsNever
}

// OffersTools implements lint.Catalog.
func (c *catalog) OffersTools(provider string) bool {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true
	}
	traits := component.Provider.WithDefaults()
	return traits.GatedTools || traits.ObservedTools
}

// HookAction implements compile.Catalog.
func (c *catalog) HookAction(name string) (canonical string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindHookAction, name)
	return component.Name, err == nil
}

// HookActions implements compile.Catalog.
func (c *catalog) HookActions() []string { return c.componentNames(sdk.KindHookAction) }

// Providers implements compile.Catalog.
func (c *catalog) Providers() []string { return c.componentNames(sdk.KindProvider) }

// Terminations implements compile.Catalog.
func (c *catalog) Terminations() []string { return c.componentNames(sdk.KindTermination) }

func (c *catalog) componentNames(kind sdk.Kind) []string {
	var names []string
	for _, component := range c.listing.Registered {
		if component.Kind == kind {
			names = append(names, component.Name)
		}
	}
	for _, p := range c.listing.Plugins {
		for _, component := range p.Description.Components {
			if component.Kind == kind {
				names = append(names, component.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SchemaBase is the URL prefix of the published schemas without plugins, each <file>.json.
const SchemaBase = "https://raw.githubusercontent.com/dodo-digital/agent-pipelines/main/docs/schema/"

// DialectFiles returns the names of the authored file types: pipeline, stage, config.
func DialectFiles() []string {
	var names []string
	for _, m := range dialect.Files() {
		names = append(names, m.Name)
	}
	return names
}

// DialectSchema returns the JSON Schema (draft 2020-12) of one of [DialectFiles], for editors. It is indented
// and ends with a newline. It accepts every document that the compiler accepts, and checks types, words,
// bounds and required keys. It does not know other files, names or plugins. An unknown file is [ErrOptions].
func DialectSchema(file string) ([]byte, error) {
	m, err := findDialectFile(file)
	if err != nil {
		return nil, err
	}
	return m.Schema(SchemaBase + file + ".json")
}

// DialectSchema is the function of that name, extended by the configuration schemas of the plugins found.
// Plugins without a cached description are started. leftOut lists the components whose schema is invalid.
func (e *Engine) DialectSchema(ctx context.Context, file string) (text []byte, leftOut []string, err error) {
	m, err := findDialectFile(file)
	if err != nil {
		return nil, nil, err
	}
	listing, err := e.host.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	found := slices.Clone(listing.Registered)
	for _, p := range listing.Plugins {
		found = append(found, p.Description.Components...)
	}
	seen := map[string]bool{}
	found = slices.DeleteFunc(found, func(c sdk.Component) bool {
		key := fmt.Sprint(c.Kind, " ", c.Name)
		if seen[key] || len(c.ConfigSchema) == 0 {
			return true
		}
		seen[key] = true
		_, err := schema.Compile(c.ConfigSchema)
		if err != nil {
			leftOut = append(leftOut, c.Name)
		}
		return err != nil
	})
	text, err = m.SchemaWith(found)
	return text, leftOut, err
}

func findDialectFile(name string) (*dialect.Object, error) {
	for _, m := range dialect.Files() {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%w: unknown schema %q: want one of %s", ErrOptions, name, strings.Join(DialectFiles(), ", "))
}

// LintOptions selects the files to check. The zero value selects every stage and pipeline of the project and
// of the engine's root, and the project's .claude/config.yaml.
type LintOptions struct {
	Stages    []string // by name
	Pipelines []string // by name or path
	Files     []string // pipeline files, stage.yaml files, stage folders, .claude/config.yaml
	// EveryStage and EveryPipeline select all stages or pipelines.
	EveryStage, EveryPipeline bool
	// Commands overrides the commands in the files, as in [RunOptions].
	Commands map[string]string
}

// LintTarget is a checked stage, pipeline or settings file with its diagnostics.
type LintTarget = lint.Target

// Kinds of a [LintTarget].
const (
	LintStage    = lint.KindStage
	LintPipeline = lint.KindPipeline
	LintConfig   = lint.KindConfig
)

// Lint checks stages and pipelines for all faults that a start would refuse, and for probable mistakes. It
// runs and writes nothing in the project. The project's settings file is last, if it was selected or has
// faults; with faults, the other targets are checked without it. An unknown name is a [*NotFoundError].
func (e *Engine) Lint(ctx context.Context, o LintOptions) ([]LintTarget, error) {
	l, config, err := e.newLinter(ctx, o.Commands)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(slices.Clone(o.Files), e.isProjectSettings)
	asked := len(files) < len(o.Files)
	var all []LintTarget
	switch {
	case len(o.Stages)+len(o.Pipelines)+len(o.Files) > 0 || o.EveryStage || o.EveryPipeline:
		o.Files = files
		if all, err = lintNamed(l, o); err != nil {
			return nil, err
		}
	default:
		all, asked = l.All(), e.hasProjectSettings()
	}
	if asked || !config.Passed {
		all = append(all, config)
	}
	for i := range all {
		all[i].Diagnostics = e.redactDiagnostics(all[i].Diagnostics)
	}
	return all, nil
}

// lintNamed checks the selected targets.
func lintNamed(l lint.Linter, o LintOptions) ([]LintTarget, error) {
	var all []LintTarget
	if o.EveryStage {
		all = append(all, l.Stages()...)
	}
	if o.EveryPipeline {
		all = append(all, l.Pipelines()...)
	}
	for _, named := range []struct {
		names []string
		check func(string) (lint.Target, error)
	}{{o.Stages, l.Stage}, {o.Pipelines, l.Pipeline}, {o.Files, l.File}} {
		for _, name := range named.names {
			target, err := named.check(name)
			if err != nil {
				return nil, err
			}
			all = append(all, target)
		}
	}
	return all, nil
}

// isProjectSettings reports whether a path is the project's existing settings file.
func (e *Engine) isProjectSettings(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.config.workDir, path)
	}
	return filepath.Clean(path) == e.project.Abs(settings.ProjectFile) && e.hasProjectSettings()
}

// hasProjectSettings reports whether the project has a settings file, readable or not.
func (e *Engine) hasProjectSettings() bool {
	_, err := e.project.Stat(settings.ProjectFile)
	return err == nil || e.settings.project.diagnostics.HasErrors()
}

// newLinter returns a linter, in which commands override those of the files, and the lint target of the
// project's settings file. A settings file with faults is not applied.
func (e *Engine) newLinter(ctx context.Context, commands map[string]string) (lint.Linter, LintTarget, error) {
	s := e.settings
	configs, found, err := s.assign(ctx, e.host)
	var faults Diagnostics
	if errors.As(err, &faults) {
		found = faults
	}
	project := slices.DeleteFunc(slices.Clone(found), func(d yamldoc.Diagnostic) bool { return d.File != settings.ProjectFile })
	if project.HasErrors() {
		s.project = settingsFile{}
		configs, _, err = s.assign(ctx, e.host)
	}
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	catalog, err := newCatalog(ctx, e.host, configs)
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	return lint.Linter{Request: e.compileRequest(RunOptions{Commands: commands}, catalog, s), Catalog: catalog}, lint.Config(settings.ProjectFile, project), nil
}

// blockProviders maps the provider names in the plan's blocks to components, nil if there are no blocks.
func (c *catalog) blockProviders(p *plan.Plan) map[string]event.Provider {
	var providers map[string]event.Provider
	for n := range p.All() {
		for _, b := range n.Providers {
			if providers == nil {
				providers = map[string]event.Provider{}
			}
			name, model, _ := c.Provider(b.Name) // the compiler has checked the name
			providers[b.Name] = event.Provider{Type: name, Model: model}
		}
	}
	return providers
}
