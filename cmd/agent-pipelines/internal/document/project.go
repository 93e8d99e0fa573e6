package document

import (
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/doctor"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// Project is what `init` wrote.
type Project struct {
	Pipeline string   `json:"pipeline"`
	Example  string   `json:"example,omitempty"`
	Dir      string   `json:"dir"`     // absolute
	Written  []string `json:"written"` // below Dir
	Existing []string `json:"kept"`    // were there already
	// Before is the shipped pipeline of the same name that it goes before, "" for none.
	Before string `json:"goes_before,omitempty"`
	Next   []Step `json:"next"`
}

// Step is a line to type, in the directory.
type Step struct {
	// Does is lint, mock, person, real or doctor.
	Does string `json:"does"`
	// About says in words what it does.
	About string `json:"about"`
	Line  string `json:"command"`
}

// Examples are those of the gallery.
type Examples struct {
	Examples []Example `json:"examples"`
}

// Example is one of them.
type Example struct {
	Name  string `json:"name"`
	Shows string `json:"shows"`
}

// DryRun is the preview of a run.
type DryRun struct {
	engine.DryRun
	Lint authoring.LintTarget `json:"lint"`
}

// Lint holds the findings in pipelines, stages and settings.
type Lint struct {
	Targets []authoring.LintTarget `json:"targets"`
	Summary LintSummary            `json:"summary"`
}

// LintSummary counts the targets.
type LintSummary struct {
	Targets int `json:"targets"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
}

// Stages are all that there are.
type Stages struct {
	Stages []authoring.StageInfo `json:"stages"`
}

// NewStage is a stage that was written.
type NewStage struct {
	Name  string   `json:"name"`
	Dir   string   `json:"dir"`
	Files []string `json:"files"` // below Dir
	// Before is the stage of the same name that it goes before, "" for none.
	Before string `json:"goes_before,omitempty"`
}

// Pipelines are all that there are.
type Pipelines struct {
	Pipelines []authoring.PipelineInfo `json:"pipelines"`
}

// Pipeline is the file of a pipeline.
type Pipeline struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// PipelineCopy is a copy that was written.
type PipelineCopy struct {
	From string `json:"from"`
	File string `json:"file"`
}

// Origins are all words of all files of settings.
type Origins struct {
	ProjectFile string                    `json:"project_file"`
	UserFile    string                    `json:"user_file"`
	Settings    []authoring.SettingOrigin `json:"settings"`
	Warnings    engine.Diagnostics        `json:"warnings,omitempty"`
}

// SettingChange is a setting that was changed.
type SettingChange struct {
	Key   string                   `json:"key"`
	Set   *authoring.SettingOrigin `json:"set,omitempty"`   // nil for what is not shown: notes of one's own, no value
	Holds *authoring.SettingOrigin `json:"holds,omitempty"` // another file's word, which holds here
}

// Examination is what doctor found.
type Examination struct {
	// Ready: a run could begin, with the provider that was asked about.
	Ready    bool           `json:"ready"`
	Provider string         `json:"provider"`
	Checks   []doctor.Check `json:"checks"`
	ExitCode int            `json:"exit_code"`
}

// Trust is a directory that was trusted or is no longer, or all that are.
type Trust struct {
	Trusted     string   `json:"trusted,omitempty"`
	Removed     string   `json:"removed,omitempty"`
	Directories []string `json:"directories,omitzero"`
}

// Explanations are those of all codes.
type Explanations struct {
	Explanations []explain.Entry `json:"explanations"`
}
