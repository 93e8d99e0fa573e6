package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// sandboxes know how the components of a plan are to be confined.
type sandboxes struct {
	project, user settings.Settings
	run           *plan.Sandbox // what whoever started the run said
	trusted       bool          // the user trusts the project
	places        sandboxpolicy.Resolver
	log           hclog.Logger
}

func (e *Engine) sandboxes(p *plan.Plan) sandboxes {
	s := sandboxes{
		project: e.settings.project.Settings, user: e.settings.user.Settings, trusted: e.settings.trusted,
		places: e.places(), log: e.log.Named("sandbox"),
	}
	if p != nil && p.Pipeline.Overrides != nil {
		s.run = p.Pipeline.Overrides.Sandbox
	}
	return s
}

// narrowed are s with the word of whoever resumes: the stricter of each member, and its paths beside the run's.
func (s sandboxes) narrowed(by *plan.Sandbox) sandboxes {
	if by == nil {
		return s
	}
	run := s.run.Within(by)
	run.Read, run.Write = slices.Concat(run.Read, by.Read), slices.Concat(run.Write, by.Write)
	s.run = run
	return s
}

func (s *session) sandboxes() sandboxes { return s.engine.sandboxes(s.plan).narrowed(s.sandbox) }

// places are what the paths in settings and pipelines are relative to.
func (e *Engine) places() sandboxpolicy.Resolver {
	return sandboxpolicy.Resolver{Project: e.config.workDir, Home: e.config.variable("HOME"), Variable: e.config.variable}
}

// of is what is asked for a component, its paths resolved; author is what the pipeline says.
func (s sandboxes) of(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (plan.Sandbox, error) {
	d, ignored := s.demand(ctx, host, kind, name, author)
	if len(ignored) > 0 {
		s.log.Warn("what the project grants is not granted, since you ask for a sandbox and do not trust the project",
			"component", name, "paths", strings.Join(ignored, ", "))
	}
	var err error
	if d.Read, err = s.places.Grants("read", d.Read, d.Write); err != nil {
		return d, err
	}
	d.Write, err = s.places.Grants("write", d.Write, d.Write)
	return d, err
}

// demand is what is asked for a component, its paths as they were written, and the paths that nobody grants.
func (s sandboxes) demand(ctx context.Context, host *pluginhost.Host, kind sdk.Kind, name string, author *plan.Sandbox) (d plan.Sandbox, ignored []string) {
	of := func(said settings.Settings) *plan.Sandbox { return said.Sandbox }
	if kind == sdk.KindProvider {
		of = func(said settings.Settings) *plan.Sandbox { return sandboxOf(ctx, host, said, name) }
	}
	return sandboxpolicy.Requests{User: s.run.Over(of(s.user)), Author: author.Over(of(s.project)), Trusted: s.trusted}.Demand()
}

// sandboxOf is what a file of settings says of a provider.
func sandboxOf(ctx context.Context, host *pluginhost.Host, said settings.Settings, name string) *plan.Sandbox {
	component, err := host.Component(ctx, sdk.KindProvider, name)
	if err != nil {
		return said.Sandbox // whoever calls the provider says why there is none
	}
	for _, p := range said.Providers {
		if other, err := host.Component(ctx, sdk.KindProvider, p.Name); err == nil && other.Name == component.Name {
			return p.Sandbox.Over(said.Sandbox)
		}
	}
	return said.Sandbox
}

// sandboxData is what the journal says of a process's isolation, nil for none.
func sandboxData(n pluginhost.Notice) *event.SandboxData {
	if n.Sandbox == nil || n.Asked == nil {
		return nil
	}
	got := n.Sandbox
	return &event.SandboxData{
		Asked: string(n.Asked.Mode), AskedNetwork: string(n.Asked.Network), Unasked: n.Asked.Best,
		Mode: string(got.Mode), Network: string(got.Network), Landlock: got.Landlock, Seccomp: got.Seccomp, Bubblewrap: got.Bubblewrap,
		Read: n.Asked.Read, Write: n.Asked.Write, Memory: got.Memory, Processes: got.Processes, CPU: got.CPUSeconds, Lacks: got.Lacks,
	}
}

// Confine is the end of a command line that [WithSandboxHelper] names: it takes the arguments behind that,
// confines this process and becomes the plugin. It returns the code to exit with only where it could not.
func Confine(args []string) int { return sandbox.Main(args) }

// ParseSize reads a number of bytes, or a size such as 512M or 2G, for [plan.Sandbox].
func ParseSize(text string) (int64, error) { return sandboxpolicy.ParseSize(text) }

// processes are the plugin processes that the last kernel of a session started, in order, as its journal says.
type processes []event.PluginData

func (all *processes) take(e event.Event) {
	switch e.Type {
	case event.KernelStart:
		*all = nil
	case event.PluginStarted:
		if d, err := event.Decode[event.PluginData](e); err == nil {
			*all = append(*all, d)
		}
	}
}
