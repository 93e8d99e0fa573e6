package authoring

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/lint"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// FindStage finds a user's stage by name in the project ("": the current directory) and in the engine's root
// ("": none), see [engine.WithEngineRoot]. It ignores shipped stages and needs no engine. file is the stage.yaml,
// relative to the project if it is inside.
func FindStage(project, engineRoot, name string) (file string, found bool) {
	project, err := filepath.Abs(project)
	if err != nil {
		return "", false
	}
	roots := sources.Roots{Project: project, Engine: engineRoot}
	dir, err := roots.FindStage(name, "")
	if err != nil {
		return "", false
	}
	return roots.StageFile(dir), true
}

// StageInfo describes a stage that a pipeline or a loop can run.
type StageInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// File is the stage.yaml, Prompt the prompt file: relative to the project if inside it, "library:…" if
	// shipped.
	File   string `json:"file"`
	Prompt string `json:"prompt,omitempty"`
	// Artifact is the type of the stage's artifact, "" for none or an unspecified type.
	Artifact string `json:"artifact,omitempty"`
	// Shadows lists the stage.yaml files of hidden stages of the same name.
	Shadows []string `json:"shadows,omitempty"`
	// Passed reports that the stage has no faults.
	Passed bool `json:"passed"`
}

// StageDetail describes a stage in full.
type StageDetail struct {
	StageInfo
	// Variables lists the variables in the prompt, without braces.
	Variables []string `json:"variables"`
	// Node is the compiled stage with all defaults and its artifact's schema, as a loop would run it.
	Node plan.Node `json:"stage"`
}

// Stages lists all stages of the project, of the engine's root and of the library, by name. It runs nothing
// of the project.
func (pr Project) Stages(ctx context.Context) ([]StageInfo, error) {
	l, _, err := pr.newLinter(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := []StageInfo{}
	for _, name := range l.Request.Stages("") {
		if dirs := l.Request.StagesNamed(name, ""); len(dirs) > 0 {
			d, _ := newStageDetail(l, dirs)
			all = append(all, d.StageInfo)
		}
	}
	return all, nil
}

// StageNames returns the sorted names of [Project.Stages]. It reads no stage files and starts no plugins.
func (pr Project) StageNames() []string { return pr.env.Roots().Stages("") }

// PipelineNames returns the sorted names of [Project.Pipelines]. It reads no pipeline files.
func (pr Project) PipelineNames() []string { return pr.env.Roots().Pipelines() }

// Stage describes the stage with the name. The error is a [*sources.NotFoundError], or [yamldoc.Diagnostics] with the
// faults of its files.
func (pr Project) Stage(ctx context.Context, name string) (*StageDetail, error) {
	l, _, err := pr.newLinter(ctx, nil)
	if err != nil {
		return nil, err
	}
	if _, err := l.Request.FindStage(name, ""); err != nil {
		return nil, err
	}
	d, found := newStageDetail(l, l.Request.StagesNamed(name, ""))
	if !d.Passed {
		return nil, pr.env.RedactDiagnostics(found)
	}
	return &d, nil
}

// newStageDetail compiles the stage in the first of the folders, which hides the others.
func newStageDetail(l lint.Linter, dirs []sources.StageDir) (StageDetail, yamldoc.Diagnostics) {
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
	if d.Node.PromptPath != "" {
		file, text, _ := prompt.ReadFile(req.Roots, req.Session, d.Node.PromptPath) // without the file there are no variables
		d.Prompt, d.Node.PromptPath = file, file
		d.Variables = append(d.Variables, prompt.Used(string(text))...)
	}
	return d, found
}

// PipelineInfo describes a pipeline that can be run by name.
type PipelineInfo struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// File is relative to the project if inside it, "library:…" if shipped.
	File string `json:"file"`
	// Nodes lists the node ids.
	Nodes []string `json:"nodes"`
	// Shadows lists the files of hidden pipelines of the same name.
	Shadows []string `json:"shadows,omitempty"`
	// Passed reports that the pipeline has no faults.
	Passed bool `json:"passed"`
}

// Pipelines lists all pipelines that can be run by name, from the same places as [Project.Stages].
func (pr Project) Pipelines(ctx context.Context) ([]PipelineInfo, error) {
	l, _, err := pr.newLinter(ctx, nil)
	if err != nil {
		return nil, err
	}
	all := []PipelineInfo{}
	for _, name := range l.Request.Pipelines() {
		if files := l.Request.PipelinesNamed(name); len(files) > 0 {
			all = append(all, newPipelineInfo(l, name, files))
		}
	}
	return all, nil
}

func newPipelineInfo(l lint.Linter, name string, files []string) PipelineInfo {
	info := PipelineInfo{Name: name, File: l.Request.Display(files[0]), Nodes: []string{}}
	for _, other := range files[1:] {
		info.Shadows = append(info.Shadows, l.Request.Display(other))
	}
	p, found := checkPipeline(l, name, files[0])
	info.Passed = !found.HasErrors()
	if p != nil {
		info.Description = p.Pipeline.Description
		for _, n := range p.Nodes {
			info.Nodes = append(info.Nodes, n.ID)
		}
	}
	return info
}

// PipelinePlan compiles a pipeline, given by name or path, for display only. It returns the faults and warnings; the
// plan is nil if the faults prevent a plan. The error is a [*sources.NotFoundError] or a fault of the settings.
func (pr Project) PipelinePlan(ctx context.Context, name string) (*plan.Plan, yamldoc.Diagnostics, error) {
	l, _, err := pr.newLinter(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	file, err := pr.env.Roots().FindPipeline(name)
	if err != nil {
		return nil, nil, err
	}
	p, found := checkPipeline(l, name, file)
	return p, found, nil
}

func checkPipeline(l lint.Linter, name, file string) (*plan.Plan, yamldoc.Diagnostics) {
	req := l.Request
	req.Catalog, req.Session, req.File = l.Catalog, name, file
	return compile.CheckPipeline(req)
}

// PipelineText returns the file of a pipeline, given by name or path, unchanged. The error is a
// [*sources.NotFoundError], or about an unreadable file.
func (pr Project) PipelineText(name string) (file string, text []byte, err error) {
	roots := pr.env.Roots()
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
