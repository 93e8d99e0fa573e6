package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// source is the input of a new run: its plan and the data that the session records about it.
type source struct {
	plan     *plan.Plan
	mode     string // loop or pipeline
	session  string
	file     string                      // the pipeline's path as given, or its absolute path; "" for none
	yaml     []byte                      // content of file
	library  []string                    // folders of shipped stages in the plan, see [compile.Result]
	runs     int                         // number of runs of the whole pipeline, 0 for one
	configs  environment.ProviderConfigs // the user's settings, by provider
	warnings yamldoc.Diagnostics
	input    runInput
}

// newSource compiles the run of the options and resolves the user's provider settings.
func (e *Engine) newSource(ctx context.Context, o RunOptions) (*source, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	configs, warnings, err := e.env.GlobalFlags.Assign(ctx, e.env.Host)
	if err != nil {
		return nil, err
	}
	src, err := e.compile(ctx, o, configs, true)
	if err != nil {
		return nil, err
	}
	src.runs = o.runCount()
	src.configs, src.warnings = configs, slices.Concat(warnings, src.warnings)
	if src.input, err = e.readRunInput(src.plan, o.Fields); err != nil {
		return nil, err
	}
	return src, nil
}

// startSource returns the source of a run that starts now.
func (e *Engine) startSource(ctx context.Context, o RunOptions) (*source, error) {
	src, err := e.newSource(ctx, o)
	if err != nil {
		return nil, err
	}
	return src, src.input.checkFirstNode(src.plan)
}

// compile compiles the plan; the user's models are the providers' defaults. Starting reports that a run
// follows.
func (e *Engine) compile(ctx context.Context, o RunOptions, configs environment.ProviderConfigs, starting bool) (*source, error) {
	if o.Plan != nil {
		return e.planSource(o, time.Now())
	}
	if o.Provider != "" { // an unknown provider of the command line is not a fault of the files
		if _, err := e.env.Host.Component(ctx, sdk.KindProvider, o.Provider); err != nil {
			return nil, err
		}
	}
	catalog, err := environment.NewCatalog(ctx, e.env.Host, configs)
	if err != nil {
		return nil, err
	}
	catalog.Starting = starting
	req := e.env.CompileRequest(compile.Overrides{
		Provider: o.Provider, Model: o.Model, Context: o.Context, Inputs: o.Inputs, Commands: o.Commands, Sandbox: o.Sandbox, Mode: o.Mode,
		Skip: o.Skip, Timeouts: o.Timeouts, MaxCycles: o.MaxCycles, Timeout: o.Timeout,
		Start: o.Start, ExitAfter: o.ExitAfter, Supervised: o.Supervised, Iterate: o.Iterate, Artifacts: o.Artifacts,
	}, catalog, e.env.GlobalFlags)
	req.Session, req.Env = o.Session, compile.Env{Provider: o.EnvProvider, Model: o.EnvModel, Context: o.EnvContext}
	switch {
	case o.Stage != "":
		return e.stageSource(req, o)
	case o.Text != "":
		return e.textSource(req, o)
	default:
		return e.pipelineSource(req, o)
	}
}

func (o RunOptions) check() error {
	count := 0
	for _, set := range []bool{o.Pipeline != "", o.Text != "", o.Stage != "", o.Plan != nil} {
		if set {
			count++
		}
	}
	if count != 1 {
		return fmt.Errorf("%w: exactly one of Pipeline, Text, Stage and Plan is required", ErrOptions)
	}
	switch {
	case o.Max < 0:
		return fmt.Errorf("%w: invalid Max %d: want at least 0", ErrOptions, o.Max)
	case o.Mode != "" && !slices.Contains(plan.Modes(), o.Mode):
		return fmt.Errorf("%w: unknown mode %q: want one of %s", ErrOptions, o.Mode, strings.Join(plan.Modes(), ", "))
	case o.Runs < 0:
		return fmt.Errorf("%w: invalid Runs %d: want at least 0", ErrOptions, o.Runs)
	case o.Runs > 1 && o.Stage != "":
		return fmt.Errorf("%w: Runs is %d for a stage: use Max", ErrOptions, o.Runs)
	}
	return nil
}

// runCount returns Runs as journaled: 0 for one.
func (o RunOptions) runCount() int {
	if o.Runs < 2 {
		return 0
	}
	return o.Runs
}

func (e *Engine) stageSource(req compile.Request, o RunOptions) (*source, error) {
	req.Session = cmp.Or(o.Session, o.Stage)
	r, err := compile.Stage(req, compile.Loop{Stage: o.Stage, Max: o.Max})
	if err != nil {
		return nil, err
	}
	return &source{plan: r.Plan, mode: "loop", session: req.Session, library: r.Library, warnings: r.Warnings}, nil
}

// textName replaces the file name in messages about a pipeline without a file.
const textName = "<text>"

func (e *Engine) textSource(req compile.Request, o RunOptions) (*source, error) {
	req.File, req.Text = textName, []byte(o.Text)
	if req.Session == "" {
		req.Session = e.newSessionName("pipeline", req.Now)
	}
	r, err := compile.Pipeline(req)
	if err != nil {
		return nil, err
	}
	return &source{plan: r.Plan, mode: "pipeline", session: req.Session, yaml: req.Text, library: r.Library, warnings: r.Warnings}, nil
}

func (e *Engine) pipelineSource(req compile.Request, o RunOptions) (*source, error) {
	file, err := req.FindPipeline(o.Pipeline)
	if err != nil {
		return nil, err
	}
	req.File = file
	if req.Session == "" {
		req.Session = e.newSessionName(e.sessionPrefix(o, file), req.Now)
	}
	r, err := compile.Pipeline(req)
	if err != nil {
		return nil, err
	}
	yaml, problem := req.ReadPipeline(file)
	if problem != "" {
		return nil, fmt.Errorf("read pipeline %s: %s", file, problem)
	}
	if e.isPath(o.Pipeline, file) {
		file = o.Pipeline
	}
	return &source{plan: r.Plan, mode: "pipeline", session: req.Session, file: file, yaml: yaml, library: r.Library, warnings: r.Warnings}, nil
}

func (e *Engine) isPath(pipeline, file string) bool {
	return filepath.IsAbs(pipeline) || filepath.Join(e.env.Config.WorkDir, pipeline) == file
}

// sessionPrefix returns the first part of a generated session name. As in the Bash engine it is the file's
// name for a pipeline given by path, and "pipeline" for one given by name.
func (e *Engine) sessionPrefix(o RunOptions, file string) string {
	if o.NameAfterPipeline || e.isPath(o.Pipeline, file) {
		return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return "pipeline"
}

// newSessionName appends the time to a prefix, and a number if the name is taken.
func (e *Engine) newSessionName(prefix string, now time.Time) string {
	base := prefix + "-" + now.UTC().Format("20060102-150405")
	name := base
	for i := 2; ; i++ {
		if _, err := e.project.Stat(store.RunsDir + "/" + name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// newRunID returns a new run id: PL-<UTC time>-<8 hex> (REQUIREMENTS U057).
func newRunID(now time.Time) string {
	return "PL-" + now.UTC().Format("20060102150405") + "-" + newID()[:8]
}

// newID returns 16 random hexadecimal digits.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// renderPlan returns plan.json, indented as by the Bash engine.
func renderPlan(p *plan.Plan) ([]byte, error) {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render plan.json: %w", err)
	}
	return append(b, '\n'), nil
}

// Compile returns the plan of a run with these options, without running it. Programs can inspect it, store it
// as JSON, or run it several times with [RunOptions].Plan. The error is [Diagnostics] with every fault of the
// files, with file, line and column. A stage's plan runs as a pipeline of one node, not as a loop.
func (e *Engine) Compile(ctx context.Context, o RunOptions) (*plan.Plan, error) {
	src, err := e.newSource(ctx, o)
	if err != nil {
		return nil, err
	}
	return src.plan, nil
}

// planSource returns the source of a run whose plan the caller supplies. It copies the plan for the session.
// An invalid plan is [ErrOptions].
func (e *Engine) planSource(o RunOptions, now time.Time) (*source, error) {
	if o.Provider+o.Model+o.EnvProvider+o.EnvModel+o.EnvContext != "" || len(o.Inputs) > 0 {
		return nil, fmt.Errorf("%w: Provider, Model, Inputs and the Env options cannot be set beside Plan; pass them to Compile", ErrOptions)
	}
	if o.Start+o.ExitAfter != "" || len(o.Skip)+len(o.Timeouts)+len(o.Iterate)+o.MaxCycles > 0 || o.Timeout > 0 || o.Supervised {
		return nil, fmt.Errorf("%w: Start, ExitAfter, Skip, Supervised, Iterate, Timeout, Timeouts and MaxCycles cannot be set beside Plan; pass them to Compile", ErrOptions)
	}
	p, err := copyPlan(o.Plan)
	if err != nil {
		return nil, err
	}
	name := cmp.Or(o.Session, p.Session.Name)
	if name == "" {
		name = e.newSessionName("pipeline", now)
	}
	library := moveLibrary(p, libraryPrefix(p.Session.Name), libraryPrefix(name))
	if len(library) > 0 && e.env.Config.Library == nil {
		return nil, fmt.Errorf("%w: the plan uses shipped stages (%s), but this engine has no library", ErrOptions, strings.Join(library, ", "))
	}
	p.Session.Name, p.Session.CreatedAt = name, now.UTC().Format(time.RFC3339)
	p.Pipeline.Name = cmp.Or(p.Pipeline.Name, name)
	if o.Context != "" || len(o.Commands)+len(o.Artifacts) > 0 || o.Sandbox != nil {
		p.Pipeline.Overrides = o.mergeOverrides(p.Pipeline.Overrides)
	}
	return &source{plan: p, mode: "pipeline", session: name, library: library}, nil
}

// copyPlan returns the plan as a session reads it back, checked for all that a run needs.
func copyPlan(original *plan.Plan) (*plan.Plan, error) {
	b, err := json.Marshal(original)
	p := &plan.Plan{}
	if err == nil {
		err = json.Unmarshal(b, p)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: copy the plan: %w", ErrOptions, err)
	}
	if p.Version == 0 { // built by a program
		p.Version = plan.Version
	}
	if err := recovery.Complete(p); err != nil {
		return nil, fmt.Errorf("%w: the plan cannot be run: %w", ErrOptions, err)
	}
	return p, nil
}

// mergeOverrides merges the options over the plan's overrides.
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
