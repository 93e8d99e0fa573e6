package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
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
	warnings yamldoc.Diagnostics
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
