package engine

import (
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

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// source is what a run is started from: the plan, and what the session keeps of where it came from.
type source struct {
	plan     *plan.Plan
	mode     string // loop or pipeline
	session  string
	file     string      // the pipeline file as asked for by path, else absolute; "" where there is none
	yaml     []byte      // its content
	library  []string    // the folders of shipped stages that the plan uses, see [compile.Result]
	runs     int         // of the whole pipeline, 0 for one
	configs  userConfigs // of the user, by provider
	warnings diagnostic.List
	handed   handed
}

// source compiles what the options name, and finds out which providers the user's settings are for.
func (e *Engine) source(ctx context.Context, o RunOptions) (*source, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	configs, warnings, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	src, err := e.compile(ctx, o, configs, true)
	if err != nil {
		return nil, err
	}
	src.runs = o.repeats()
	src.configs, src.warnings = configs, slices.Concat(warnings, src.warnings)
	if src.handed, err = e.handed(src.plan, o.Fields); err != nil {
		return nil, err
	}
	return src, nil
}

// starting is the source of a run that is to begin with it.
func (e *Engine) starting(ctx context.Context, o RunOptions) (*source, error) {
	src, err := e.source(ctx, o)
	if err != nil {
		return nil, err
	}
	return src, src.handed.suffices(src.plan)
}

// compile makes the plan; the user's models are the defaults of their providers. Starting says that a run begins with it.
func (e *Engine) compile(ctx context.Context, o RunOptions, configs userConfigs, starting bool) (*source, error) {
	if o.Plan != nil {
		return e.given(o, time.Now())
	}
	if o.Provider != "" { // a provider of the command line that does not exist is no fault of the files
		if _, err := e.host.Component(ctx, sdk.KindProvider, o.Provider); err != nil {
			return nil, err
		}
	}
	catalog, err := newCatalog(ctx, e.host, configs)
	if err != nil {
		return nil, err
	}
	catalog.starting = starting
	req := e.compilation(o, catalog, e.settings)
	switch {
	case o.Stage != "":
		return e.stageSource(req, o)
	case o.Text != "":
		return e.textSource(req, o)
	default:
		return e.pipelineSource(req, o)
	}
}

// compilation is what a compilation starts from.
func (e *Engine) compilation(o RunOptions, known *catalog, said allSettings) compile.Request {
	return compile.Request{
		Roots:   e.roots(),
		Session: o.Session, Now: time.Now(), Catalog: known, Defaults: said.defaults(), DefaultProvider: e.config.fallback,
		Overrides: compile.Overrides{
			Provider: o.Provider, Model: o.Model, Context: o.Context, Inputs: o.Inputs, Commands: o.Commands, Sandbox: o.Sandbox,
			Mode: plan.StricterMode(o.Mode, plan.StricterMode(said.user.Mode, said.project.Mode)),
			Skip: o.Skip, Timeouts: o.Timeouts, MaxCycles: o.MaxCycles, Timeout: o.Timeout,
			Start: o.Start, ExitAfter: o.ExitAfter, Supervised: o.Supervised, Iterate: o.Iterate, Artifacts: o.Artifacts,
		},
		Env: compile.Env{Provider: o.EnvProvider, Model: o.EnvModel, Context: o.EnvContext},
	}
}

func (o RunOptions) check() error {
	named := 0
	for _, given := range []bool{o.Pipeline != "", o.Text != "", o.Stage != "", o.Plan != nil} {
		if given {
			named++
		}
	}
	if named != 1 {
		return fmt.Errorf("%w: exactly one of Pipeline, Text, Stage and Plan is needed", ErrOptions)
	}
	switch {
	case o.Max < 0:
		return fmt.Errorf("%w: a maximum of %d iterations", ErrOptions, o.Max)
	case o.Mode != "" && !slices.Contains(plan.Modes(), o.Mode):
		return fmt.Errorf("%w: there is no mode %q: it is one of %s", ErrOptions, o.Mode, strings.Join(plan.Modes(), ", "))
	case o.Runs < 0:
		return fmt.Errorf("%w: %d runs of a pipeline", ErrOptions, o.Runs)
	case o.Runs > 1 && o.Stage != "":
		return fmt.Errorf("%w: %d runs of a stage: it repeats by Max", ErrOptions, o.Runs)
	}
	return nil
}

// repeats is Runs as the journal has it: 0 for once.
func (o RunOptions) repeats() int {
	if o.Runs < 2 {
		return 0
	}
	return o.Runs
}

func (e *Engine) roots() compile.Roots {
	return compile.Roots{Project: e.config.workDir, Engine: e.config.engineRoot, Library: e.config.library}
}

func (e *Engine) stageSource(req compile.Request, o RunOptions) (*source, error) {
	req.Session = orElse(o.Session, o.Stage)
	r, err := compile.Stage(req, compile.Loop{Stage: o.Stage, Max: o.Max})
	if err != nil {
		return nil, err
	}
	return &source{plan: r.Plan, mode: "loop", session: req.Session, library: r.Library, warnings: r.Warnings}, nil
}

// textName stands for the file in messages about a pipeline that lies in none.
const textName = "<text>"

func (e *Engine) textSource(req compile.Request, o RunOptions) (*source, error) {
	req.File, req.Text = textName, []byte(o.Text)
	if req.Session == "" {
		req.Session = e.generatedName("pipeline", req.Now)
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
		req.Session = e.generatedName(e.nameFor(o, file), req.Now)
	}
	r, err := compile.Pipeline(req)
	if err != nil {
		return nil, err
	}
	yaml, problem := req.ReadPipeline(file)
	if problem != "" {
		return nil, fmt.Errorf("read pipeline %s: %s", file, problem)
	}
	if e.askedByPath(o.Pipeline, file) {
		file = o.Pipeline
	}
	return &source{plan: r.Plan, mode: "pipeline", session: req.Session, file: file, yaml: yaml, library: r.Library, warnings: r.Warnings}, nil
}

func (e *Engine) askedByPath(asked, file string) bool {
	return filepath.IsAbs(asked) || filepath.Join(e.config.workDir, asked) == file
}

// nameFor is the first word of the made-up name of a pipeline's session. As the Bash engine has it, that is the file's
// name for a pipeline that was asked for by its path, and "pipeline" for one that was asked for by its name.
func (e *Engine) nameFor(o RunOptions, file string) string {
	if o.NamedAfter || e.askedByPath(o.Pipeline, file) {
		return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	return "pipeline"
}

// generatedName is a word with the time, and with a number behind it where two sessions start in one second.
func (e *Engine) generatedName(word string, now time.Time) string {
	base := word + "-" + now.UTC().Format("20060102-150405")
	name := base
	for i := 2; ; i++ {
		if _, err := e.project.Stat(store.RunsDir + "/" + name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", base, i)
	}
}

// newRunID identifies a run: PL-<UTC time>-<8 hex> (REQUIREMENTS U057).
func newRunID(now time.Time) string {
	return "PL-" + now.UTC().Format("20060102150405") + "-" + newID()[:8]
}

// newID is 16 random hexadecimal digits.
func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// render is plan.json: Bash's shape, indented.
func render(p *plan.Plan) ([]byte, error) {
	b, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render plan.json: %w", err)
	}
	return append(b, '\n'), nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

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
