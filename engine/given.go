package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Compile makes the plan that a run with these options would have, and runs nothing: for a program that looks
// at plans, keeps them as JSON, or runs one of them several times by [RunOptions].Plan. The error holds every
// fault of the files, with file, line and column, as a [Diagnostics]. A stage's plan runs as a pipeline of one
// node, not as a loop.
func (e *Engine) Compile(ctx context.Context, o RunOptions) (*plan.Plan, error) {
	src, err := e.source(ctx, o)
	if err != nil {
		return nil, err
	}
	return src.plan, nil
}

// given is the source of a run whose plan the caller has: a copy, for this session. What is wrong with it is
// [ErrOptions].
func (e *Engine) given(o RunOptions, now time.Time) (*source, error) {
	if o.Provider+o.Model+o.EnvProvider+o.EnvModel+o.EnvContext != "" || len(o.Inputs) > 0 {
		return nil, fmt.Errorf("%w: a plan has its provider, model and inputs; give them to Compile", ErrOptions)
	}
	if o.Start+o.ExitAfter != "" || len(o.Skip)+len(o.Timeouts)+len(o.Iterate)+o.MaxCycles > 0 || o.Timeout > 0 || o.Supervised {
		return nil, fmt.Errorf("%w: a plan says where a run begins and ends, what is left out, after which nodes a person is asked, how long it may take and how often edges lead back; give that to Compile", ErrOptions)
	}
	p, err := copyPlan(o.Plan)
	if err != nil {
		return nil, err
	}
	name := orElse(o.Session, p.Session.Name)
	if name == "" {
		name = e.generatedName("pipeline", now)
	}
	library := moveLibrary(p, libraryPaths(p.Session.Name), libraryPaths(name))
	if len(library) > 0 && e.config.library == nil {
		return nil, fmt.Errorf("%w: the plan uses the shipped %s, and this engine ships nothing", ErrOptions, strings.Join(library, ", "))
	}
	p.Session.Name, p.Session.CreatedAt = name, now.UTC().Format(time.RFC3339)
	p.Pipeline.Name = orElse(p.Pipeline.Name, name)
	if o.Context != "" || len(o.Commands)+len(o.Artifacts) > 0 || o.Sandbox != nil {
		p.Pipeline.Overrides = o.over(p.Pipeline.Overrides)
	}
	return &source{plan: p, mode: "pipeline", session: name, library: library}, nil
}

// copyPlan is the plan as a session will read it back, checked for what it needs to be run.
func copyPlan(given *plan.Plan) (*plan.Plan, error) {
	b, err := json.Marshal(given)
	p := &plan.Plan{}
	if err == nil {
		err = json.Unmarshal(b, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: copy the plan: %w", ErrOptions, err)
	}
	if p.Version == 0 { // made by hand
		p.Version = plan.Version
	}
	if err := recovery.Complete(p); err != nil {
		return nil, fmt.Errorf("%w: the plan cannot be run: %w", ErrOptions, err)
	}
	return p, nil
}

// over is what the options say over a plan, and what was said before where they say nothing.
func (o RunOptions) over(before *plan.Overrides) *plan.Overrides {
	said := plan.Overrides{}
	if before != nil {
		said = *before
	}
	said.Context = orElse(o.Context, said.Context)
	said.Commands, said.Artifacts = laid(o.Commands, said.Commands), laid(o.Artifacts, said.Artifacts)
	if o.Sandbox != nil {
		said.Sandbox = o.Sandbox.Within(said.Sandbox)
	}
	return &said
}

// laid are the members of two maps, those of the first over the others; neither is changed.
func laid(over, under map[string]string) map[string]string {
	if len(over) == 0 {
		return under
	}
	all := maps.Clone(under)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, over)
	return all
}

// libraryPaths is what the prompt paths of shipped stages begin with in a session's plan.
func libraryPaths(session string) string { return filepath.ToSlash(compile.LibraryDir(session)) + "/" }

// moveLibrary lets the plan's prompt paths, and the folders of commands, point to another session's copies of shipped stages, and returns the
// folders of those stages, as in [compile.Result].
func moveLibrary(p *plan.Plan, from, to string) []string {
	var folders []string
	move := func(n *plan.Node) {
		if file, shipped := strings.CutPrefix(n.PromptPath, from); shipped {
			n.PromptPath = to + file
			folders = append(folders, stageFolder(file))
		}
		if n.Wraps == nil {
			return
		}
		if dir, shipped := strings.CutPrefix(n.Wraps.Dir, from); shipped {
			own := *n.Wraps
			own.Dir, n.Wraps = to+dir, &own
			folders = append(folders, stageFolder(dir))
		}
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		move(n)
		for j := range n.Stages {
			move(&n.Stages[j])
		}
		if n.Plan != nil {
			folders = append(folders, moveLibrary(n.Plan, from, to)...)
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// stageFolder is the folder of a library's stage ("stages/tick") in which the file lies.
func stageFolder(file string) string {
	parts := strings.SplitN(file, "/", 3)
	return path.Join(parts[:min(2, len(parts))]...)
}
