package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/lint"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// catalog answers the compiler's questions about components from the plugin host.
type catalog struct {
	ctx     context.Context //nolint:containedctx // it lives for one compilation, whose interface has no ctx
	host    *pluginhost.Host
	listing pluginhost.Listing
	user    userConfigs
	// starting: a run is about to begin, which tries every provider and strategy before any work. One whose plugin is
	// broken is taken for there, so that the run is refused for what is wrong with the plugin, with its own code.
	starting bool
}

// newCatalog describes all that is there; plugins that are not remembered are started for it. user's
// models go before those of the providers.
func newCatalog(ctx context.Context, host *pluginhost.Host, user userConfigs) (*catalog, error) {
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
	return component.Name, orElse(c.user[component.Name].Model, defaultModel), true
}

// Termination implements compile.Catalog.
func (c *catalog) Termination(name string) bool {
	_, err := c.host.Component(c.ctx, sdk.KindTermination, name)
	return err == nil || c.willFail(name)
}

// willFail says whether the run that begins will fail for the plugin of this name.
func (c *catalog) willFail(name string) bool { return c.starting && c.host.Broken(name) != nil }

// Advice implements compile.Adviser.
func (c *catalog) Advice(kind sdk.Kind, name string) string {
	if by, off := c.host.TurnedOff(kind, name); off {
		return fmt.Sprintf("this program serves it itself, which is turned off by %s", by)
	}
	if f := c.host.Broken(name); f != nil {
		return fmt.Sprintf("there is a plugin of this name, which cannot be used: %s", f.Message)
	}
	return ""
}

// Models implements lint.Catalog.
func (c *catalog) Models(provider string) (known []string, only bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return nil, false
	}
	traits := component.Provider.Complete()
	return traits.Models, traits.ModelChoice == sdk.ModelsListed
}

// Locality implements compile.Locator.
func (c *catalog) Locality(provider string) sdk.Locality {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return ""
	}
	return component.Provider.Complete().Locality
}

// Reports implements lint.Catalog.
func (c *catalog) Reports(provider string) (usd, tokens bool) {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true, true
	}
	traits := component.Provider.Complete()
	return traits.Cost != sdk.ReportsNever, traits.Usage != sdk.ReportsNever
}

// OffersTools implements lint.Catalog.
func (c *catalog) OffersTools(provider string) bool {
	component, err := c.host.Component(c.ctx, sdk.KindProvider, provider)
	if err != nil || component.Provider == nil {
		return true
	}
	traits := component.Provider.Complete()
	return traits.GatedTools || traits.ObservedTools
}

// HookAction implements compile.Catalog.
func (c *catalog) HookAction(name string) (canonical string, ok bool) {
	component, err := c.host.Component(c.ctx, sdk.KindHookAction, name)
	return component.Name, err == nil
}

// HookActions implements compile.Catalog.
func (c *catalog) HookActions() []string { return c.names(sdk.KindHookAction) }

// Providers implements compile.Catalog.
func (c *catalog) Providers() []string { return c.names(sdk.KindProvider) }

// Terminations implements compile.Catalog.
func (c *catalog) Terminations() []string { return c.names(sdk.KindTermination) }

func (c *catalog) names(kind sdk.Kind) []string {
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

// SchemaBase is where the schemas without plugins are published, each as <file>.json.
const SchemaBase = "https://raw.githubusercontent.com/dodo-digital/agent-pipelines/main/docs/schema/"

// DialectFiles are the names of the files that people write: pipeline, stage, config.
func DialectFiles() []string {
	var names []string
	for _, m := range dialect.Files() {
		names = append(names, m.Name)
	}
	return names
}

// DialectSchema is the JSON Schema (draft 2020-12) of one of [DialectFiles], for editors. It is indented and ends a line. It
// takes each document that the kernel takes, and refuses what the kernel refuses as a type, a word, a bound or a missing
// key; what other files, names and plugins say it does not know. Another name is [ErrOptions].
func DialectSchema(file string) ([]byte, error) {
	m, err := dialectFile(file)
	if err != nil {
		return nil, err
	}
	return m.Schema(SchemaBase + file + ".json")
}

// DialectSchema is the function of that name with what the plugins that were found say of the configuration of their
// components. Plugins that are not remembered are started to describe themselves. leftOut are the names of the components
// whose schema is none.
func (e *Engine) DialectSchema(ctx context.Context, file string) (text []byte, leftOut []string, err error) {
	m, err := dialectFile(file)
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
		of := fmt.Sprint(c.Kind, " ", c.Name)
		if seen[of] || len(c.ConfigSchema) == 0 {
			return true
		}
		seen[of] = true
		_, err := schema.Compile(c.ConfigSchema)
		if err != nil {
			leftOut = append(leftOut, c.Name)
		}
		return err != nil
	})
	text, err = m.SchemaWith(found)
	return text, leftOut, err
}

func dialectFile(name string) (*dialect.Object, error) {
	for _, m := range dialect.Files() {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no schema of %q (there is %s)", ErrOptions, name, strings.Join(DialectFiles(), ", "))
}

// LintOptions name what is to be checked. Nothing named means every stage and every pipeline of the project
// and of the engine's root, and the project's .claude/config.yaml.
type LintOptions struct {
	Stages    []string // by name
	Pipelines []string // by name or path
	Files     []string // pipeline files, stage.yaml files, the folders of stages, .claude/config.yaml
	// EveryStage and EveryPipeline stand for all the names of a kind.
	EveryStage, EveryPipeline bool
	// Commands win over those that the files say, as in [RunOptions].
	Commands map[string]string
}

// LintTarget is a stage, a pipeline or the project's file of settings and what was found in it.
type LintTarget = lint.Target

// The kinds of a [LintTarget].
const (
	LintStage    = lint.KindStage
	LintPipeline = lint.KindPipeline
	LintConfig   = lint.KindConfig
)

// Lint checks stages and pipelines: all that a start would refuse, and what is probably not meant. It runs
// nothing of the project and writes nothing in it. The project's file of settings comes last where it was
// asked for or has faults; with faults, the others are checked without it. A name that stands for nothing is a
// [*NotFoundError].
func (e *Engine) Lint(ctx context.Context, o LintOptions) ([]LintTarget, error) {
	l, config, err := e.linter(ctx, o.Commands)
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
		all[i].Diagnostics = e.clean(all[i].Diagnostics)
	}
	return all, nil
}

// lintNamed checks what is named.
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

// isProjectSettings reports whether a path is that of the project's file of settings, which exists.
func (e *Engine) isProjectSettings(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.config.workDir, path)
	}
	return filepath.Clean(path) == e.project.Abs(settings.ProjectFile) && e.hasProjectSettings()
}

// hasProjectSettings reports whether the project has a file of settings, or what is meant to be one.
func (e *Engine) hasProjectSettings() bool {
	_, err := e.project.Stat(settings.ProjectFile)
	return err == nil || e.settings.project.found.HasErrors()
}

// linter makes a linter, with commands over those of the files, and the target of the project's file of settings; one that has faults is not used.
func (e *Engine) linter(ctx context.Context, commands map[string]string) (lint.Linter, LintTarget, error) {
	said := e.settings
	configs, found, err := said.assign(ctx, e.host)
	var faults Diagnostics
	if errors.As(err, &faults) {
		found = faults
	}
	own := slices.DeleteFunc(slices.Clone(found), func(d diagnostic.Diagnostic) bool { return d.File != settings.ProjectFile })
	if own.HasErrors() {
		said.project = written{}
		configs, _, err = said.assign(ctx, e.host)
	}
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	known, err := newCatalog(ctx, e.host, configs)
	if err != nil {
		return lint.Linter{}, LintTarget{}, err
	}
	return lint.Linter{Request: e.compilation(RunOptions{Commands: commands}, known, said), Catalog: known}, lint.Config(settings.ProjectFile, own), nil
}

// standFor says what the provider names in the plan's blocks stand for, nil if there are no blocks.
func (c *catalog) standFor(p *plan.Plan) map[string]event.Provider {
	var known map[string]event.Provider
	for n := range p.All() {
		for _, b := range n.Providers {
			if known == nil {
				known = map[string]event.Provider{}
			}
			name, model, _ := c.Provider(b.Name) // the compiler has found it
			known[b.Name] = event.Provider{Type: name, Model: model}
		}
	}
	return known
}
