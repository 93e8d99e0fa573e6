package engine

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/lint"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// FindStage looks for a stage of the user's by its name: in the project, whose directory "" is the current one, and in the
// engine's root, "" for none (see [WithEngineRoot]). Shipped stages are not looked through. file is its stage.yaml, relative
// to the project where it lies inside it. It opens no engine.
func FindStage(project, engineRoot, name string) (file string, found bool) {
	project, err := filepath.Abs(project)
	if err != nil {
		return "", false
	}
	roots := compile.Roots{Project: project, Engine: engineRoot}
	dir, err := roots.FindStage(name, "")
	if err != nil {
		return "", false
	}
	return roots.StageFile(dir), true
}

// StageInfo is a stage that a pipeline can name, or a loop run.
type StageInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// File is its stage.yaml, Prompt its prompt file: relative to the project where it lies inside it, "library:…" for what
	// is shipped.
	File   string `json:"file"`
	Prompt string `json:"prompt,omitempty"`
	// Artifact is the type of what it makes for others, "" for nothing or a type that it does not say.
	Artifact string `json:"artifact,omitempty"`
	// Shadows are the stage.yaml of stages of the same name that it goes before.
	Shadows []string `json:"shadows,omitempty"`
	// Passed: it has no faults.
	Passed bool `json:"passed"`
}

// StageDetail is all that is known of a stage.
type StageDetail struct {
	StageInfo
	// Variables are those that its prompt uses, without braces.
	Variables []string `json:"variables"`
	// Node is what the stage comes to where it runs alone: stage.yaml with all defaults, its artifact's schema resolved.
	Node plan.Node `json:"stage"`
}

// Stages lists every stage that can be named, by name: those of the project and of the engine's root, and what is shipped.
// It runs nothing of the project.
func (e *Engine) Stages(ctx context.Context) ([]StageInfo, error) {
	l, _, err := e.linter(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := []StageInfo{}
	for _, name := range l.Request.Stages("") {
		if dirs := l.Request.StagesNamed(name); len(dirs) > 0 {
			d, _ := stageDetail(l, dirs)
			all = append(all, d.StageInfo)
		}
	}
	return all, nil
}

// StageNames are the names of the stages that [Engine.Stages] lists, sorted. No file of a stage is read and no plugin started.
func (e *Engine) StageNames() []string { return e.roots().Stages("") }

// PipelineNames are those of [Engine.Pipelines], in the same way.
func (e *Engine) PipelineNames() []string { return e.roots().Pipelines() }

// Stage tells all of the stage with the name. The error is a [*NotFoundError], or a [Diagnostics] with the faults of its files.
func (e *Engine) Stage(ctx context.Context, name string) (*StageDetail, error) {
	l, _, err := e.linter(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := l.Request.FindStage(name, ""); err != nil {
		return nil, err
	}
	d, found := stageDetail(l, l.Request.StagesNamed(name))
	if !d.Passed {
		return nil, e.clean(found)
	}
	return &d, nil
}

// stageDetail compiles the first of the folders, which has a stage.
func stageDetail(l lint.Linter, dirs []compile.StageDir) (StageDetail, Diagnostics) {
	req := l.Request
	req.Catalog, req.Session = l.Catalog, dirs[0].Name
	d := StageDetail{StageInfo: StageInfo{Name: dirs[0].Name, File: req.StageFile(dirs[0])}, Variables: []string{}}
	for _, other := range dirs[1:] {
		d.Shadows = append(d.Shadows, req.StageFile(other))
	}
	p, found := compile.CheckStage(req, dirs[0], compile.Loop{Stage: dirs[0].Name})
	d.Passed = !found.HasErrors()
	if p == nil || len(p.Nodes) == 0 {
		return d, found
	}
	d.Node = p.Nodes[0]
	d.Description = d.Node.Description
	if d.Node.Artifact != nil {
		d.Artifact = d.Node.Artifact.Type
	}
	var text string
	d.Prompt, text = promptOf(req, d.Node.PromptPath)
	d.Node.PromptPath = d.Prompt
	d.Variables = append(d.Variables, prompt.Used(text)...)
	return d, found
}

// promptOf reads the prompt file of a plan for looking at, where it lies and not where a run would copy it to; "" for what cannot be
// read.
func promptOf(req compile.Request, file string) (shown, text string) {
	if inner, shipped := strings.CutPrefix(file, filepath.ToSlash(compile.LibraryDir(req.Session))+"/"); shipped {
		data, _ := fs.ReadFile(req.Library, inner)
		return "library:" + inner, string(data)
	}
	if file == "" {
		return "", ""
	}
	at := file
	if !filepath.IsAbs(at) {
		at = filepath.Join(req.Project, at)
	}
	data, _ := diagnostic.ReadFile(at)
	return file, string(data)
}

// PipelineInfo is a pipeline that can be started by its name.
type PipelineInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// File is relative to the project where it lies inside it, "library:…" for what is shipped.
	File string `json:"file"`
	// Nodes are the ids of its nodes.
	Nodes []string `json:"nodes"`
	// Shadows are the files of pipelines of the same name that it goes before.
	Shadows []string `json:"shadows,omitempty"`
	// Passed: it has no faults.
	Passed bool `json:"passed"`
}

// Pipelines lists every pipeline that can be started by its name, as [Engine.Stages] does.
func (e *Engine) Pipelines(ctx context.Context) ([]PipelineInfo, error) {
	l, _, err := e.linter(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := []PipelineInfo{}
	for _, name := range l.Request.Pipelines() {
		if files := l.Request.PipelinesNamed(name); len(files) > 0 {
			all = append(all, pipelineInfo(l, name, files))
		}
	}
	return all, nil
}

func pipelineInfo(l lint.Linter, name string, files []string) PipelineInfo {
	info := PipelineInfo{Name: name, File: l.Request.Display(files[0]), Nodes: []string{}}
	for _, other := range files[1:] {
		info.Shadows = append(info.Shadows, l.Request.Display(other))
	}
	p, found := outline(l, name, files[0])
	info.Passed = !found.HasErrors()
	if p != nil {
		info.Description = p.Pipeline.Description
		for _, n := range p.Nodes {
			info.Nodes = append(info.Nodes, n.ID)
		}
	}
	return info
}

// PipelinePlan is what the pipeline that a name or path stands for compiles to, with its faults and warnings: to be
// looked at, not to be run. The plan is nil where they leave nothing of it. The error is a [*NotFoundError], or that of
// the settings.
func (e *Engine) PipelinePlan(ctx context.Context, name string) (*plan.Plan, Diagnostics, error) {
	l, _, err := e.linter(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	file, err := e.roots().FindPipeline(name)
	if err != nil {
		return nil, nil, err
	}
	p, found := outline(l, name, file)
	return p, found, nil
}

func outline(l lint.Linter, name, file string) (*plan.Plan, Diagnostics) {
	req := l.Request
	req.Catalog, req.Session, req.File = l.Catalog, name, file
	return compile.CheckPipeline(req)
}

// PipelineText is the file of the pipeline that a name or path stands for, as it is. The error is a [*NotFoundError].
func (e *Engine) PipelineText(name string) (file string, text []byte, err error) {
	roots := e.roots()
	file, err = roots.FindPipeline(name)
	if err != nil {
		return "", nil, err
	}
	text, problem := roots.ReadPipeline(file)
	if problem != "" {
		return "", nil, fmt.Errorf("read pipeline %s: %s", roots.Display(file), problem)
	}
	return roots.Display(file), slices.Clone(text), nil
}
