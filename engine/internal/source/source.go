package source

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/delivery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Source is the input of a new run: its plan and the data that the session records about it.
type Source struct {
	Plan     *plan.Plan
	Mode     string // loop or pipeline
	Session  string
	File     string                      // the pipeline's path as given, or its absolute path; "" for none
	Yaml     []byte                      // content of the file
	Library  []string                    // folders of shipped stages in the plan, see [compile.Result]
	Runs     int                         // number of runs of the whole pipeline, 0 for one
	Configs  environment.ProviderConfigs // the user's settings, by provider
	Warnings yamldoc.Diagnostics
	Input    RunInput
}

// New compiles the run of the options and resolves the user's provider settings.
func New(ctx context.Context, env *environment.Environment, o RunOptions) (*Source, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	configs, warnings, err := env.Settings.Assign(ctx, env.Host)
	if err != nil {
		return nil, err
	}
	src, err := Compile(ctx, env, o, configs, true)
	if err != nil {
		return nil, err
	}
	src.Runs = o.RunCount()
	src.Configs, src.Warnings = configs, slices.Concat(warnings, src.Warnings)
	if src.Input, err = readRunInput(env, src.Plan, o.Fields); err != nil {
		return nil, err
	}
	return src, nil
}

// Start returns the source of a run that starts now. It also checks that the first node does not lack a required field, and
// that the project allows the delivery.
func Start(ctx context.Context, env *environment.Environment, o RunOptions) (*Source, error) {
	src, err := New(ctx, env, o)
	if err != nil {
		return nil, err
	}
	if err := src.Input.checkFirstNode(src.Plan); err != nil {
		return nil, err
	}
	if src.Plan.Delivers() {
		mode, _ := src.Input.fields[plan.FieldDelivery].(string)
		err = delivery.CheckStart(ctx, env.Config.WorkDir, cmp.Or(plan.DeliveryMode(mode), plan.DeliverFiles))
	}
	return src, err
}

// Compile compiles the plan; the user's models are the providers' defaults. starting says whether a run follows.
func Compile(ctx context.Context, env *environment.Environment, o RunOptions, configs environment.ProviderConfigs, starting bool) (*Source, error) {
	if o.Plan != nil {
		return planSource(env, o, time.Now())
	}
	if o.Provider != "" { // an unknown provider of the command line is not a fault of the files
		if _, err := env.Host.Component(ctx, sdk.KindProvider, o.Provider); err != nil {
			return nil, err
		}
	}
	catalog, err := environment.NewCatalog(ctx, env.Host, configs)
	if err != nil {
		return nil, err
	}
	catalog.Starting = starting
	req := env.CompileRequest(o.overrides(), catalog, env.Settings)
	req.Session = o.Session
	req.Env = compile.Env{Provider: o.EnvProvider, Model: o.EnvModel, Context: o.EnvContext}
	src, prefix, compiled := &Source{Mode: "pipeline"}, "pipeline", compile.Pipeline
	switch {
	case o.Stage != "":
		src.Mode, req.Session = "loop", cmp.Or(o.Session, o.Stage)
		compiled = func(req compile.Request) (*compile.Result, error) {
			return compile.Stage(req, compile.Loop{Stage: o.Stage, Max: o.Max})
		}
	case o.Text != "":
		req.File, req.Text = textName, []byte(o.Text)
	default:
		if req.File, err = req.FindPipeline(o.Pipeline); err != nil {
			return nil, err
		}
		req.Text, _ = req.ReadPipeline(req.File) // the compiler reports an unreadable file
		src.File = req.File
		byPath := filepath.IsAbs(o.Pipeline) || filepath.Join(env.Config.WorkDir, o.Pipeline) == req.File
		if byPath {
			src.File = o.Pipeline
		}
		if byPath || o.NameAfterPipeline { // otherwise the prefix stays pipeline, as in the Bash engine
			prefix = strings.TrimSuffix(filepath.Base(req.File), filepath.Ext(req.File))
		}
	}
	if req.Session == "" {
		req.Session = newSessionName(env, prefix, req.Now)
	}
	r, err := compiled(req)
	if err != nil {
		return nil, err
	}
	src.Plan, src.Session, src.Yaml, src.Library, src.Warnings = r.Plan, req.Session, req.Text, r.Library, r.Warnings
	return src, nil
}

// textName replaces the file name in messages about a pipeline without a file.
const textName = "<text>"

// newSessionName appends the time to a prefix, and a number if the name is taken.
func newSessionName(env *environment.Environment, prefix string, now time.Time) string {
	base := prefix + "-" + now.UTC().Format("20060102-150405")
	name := base
	for i := 2; ; i++ {
		if _, err := env.Project.Stat(store.RunsDir + "/" + name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// planSource returns the source of a run whose plan the caller supplies. It copies the plan for the session.
// An invalid plan is [environment.ErrOptions].
func planSource(env *environment.Environment, o RunOptions, now time.Time) (*Source, error) {
	if o.Provider+o.Model+o.EnvProvider+o.EnvModel+o.EnvContext != "" || len(o.Inputs) > 0 {
		return nil, fmt.Errorf("%w: Provider, Model, Inputs and the Env options cannot be set together with Plan; pass them to Compile", environment.ErrOptions)
	}
	if o.Start+o.ExitAfter != "" || len(o.Skip)+len(o.Timeouts)+len(o.Iterate)+o.MaxCycles > 0 || o.Timeout > 0 || o.Supervised {
		return nil, fmt.Errorf("%w: Start, ExitAfter, Skip, Supervised, Iterate, Timeout, Timeouts and MaxCycles cannot be set together with Plan; pass them to Compile", environment.ErrOptions)
	}
	p, err := copyPlan(o.Plan)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(o.Session, p.Session.Name)
	if name == "" {
		name = newSessionName(env, "pipeline", now)
	}
	library := moveLibrary(p, libraryPrefix(p.Session.Name), libraryPrefix(name))
	if len(library) > 0 && env.Config.Library == nil {
		return nil, fmt.Errorf("%w: the plan uses shipped stages (%s), but this engine has no library", environment.ErrOptions, strings.Join(library, ", "))
	}
	p.Session.Name, p.Session.CreatedAt = name, now.UTC().Format(time.RFC3339)
	p.Pipeline.Name = cmp.Or(p.Pipeline.Name, name)
	if o.Context != "" || len(o.Commands)+len(o.Artifacts) > 0 || o.Sandbox != nil {
		p.Pipeline.Overrides = o.mergeOverrides(p.Pipeline.Overrides)
	}
	return &Source{Plan: p, Mode: "pipeline", Session: name, Library: library}, nil
}

// copyPlan returns a copy of the plan and checks that it has everything that a run needs.
func copyPlan(original *plan.Plan) (*plan.Plan, error) {
	b, err := json.Marshal(original)
	p := &plan.Plan{}
	if err == nil {
		err = json.Unmarshal(b, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: copy the plan: %w", environment.ErrOptions, err)
	}
	if p.Version == 0 { // built by a program
		p.Version = plan.Version
	}
	if err := recovery.Complete(p); err != nil {
		return nil, fmt.Errorf("%w: the plan cannot be run: %w", environment.ErrOptions, err)
	}
	return p, nil
}

// mergeOverrides returns the plan's overrides with the options, which take precedence.
func (o RunOptions) mergeOverrides(base *plan.Overrides) *plan.Overrides {
	merged := plan.Overrides{}
	if base != nil {
		merged = *base
	}
	merged.Context = cmp.Or(o.Context, merged.Context)
	merged.Commands, merged.Artifacts = mergeMaps(o.Commands, merged.Commands), mergeMaps(o.Artifacts, merged.Artifacts)
	if o.Sandbox != nil {
		merged.Sandbox = o.Sandbox.Restrict(merged.Sandbox)
	}
	return &merged
}

// mergeMaps merges two maps; over takes precedence. Neither is changed.
func mergeMaps(over, under map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, under)
	maps.Copy(all, over)
	return all
}

// libraryPrefix returns the prefix of prompt paths of shipped stages in a session's plan.
func libraryPrefix(session string) string { return filepath.ToSlash(compile.LibraryDir(session)) + "/" }

// moveLibrary rewrites prompt paths and command directories to another session's copies of shipped stages. It
// returns the folders of those stages, as in [compile.Result].
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
			wraps := *n.Wraps
			wraps.Dir, n.Wraps = to+dir, &wraps
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

// stageFolder returns the folder of a library stage ("stages/tick") that contains the file.
func stageFolder(file string) string {
	parts := strings.SplitN(file, "/", 3)
	return path.Join(parts[:min(2, len(parts))]...)
}
