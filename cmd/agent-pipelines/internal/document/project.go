package document

import (
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/doctor"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// Project lists the files that `init` wrote.
type Project struct {
	Pipeline string   `json:"pipeline"`
	Example  string   `json:"example,omitempty"`
	Dir      string   `json:"dir"`     // absolute
	Written  []string `json:"written"` // below Dir
	Existing []string `json:"kept"`    // below Dir; they existed already and stay unchanged
	// Before is the shipped pipeline of the same name that the new pipeline overrides, "" for none.
	Before string `json:"goes_before,omitempty"`
	Next   []Step `json:"next"`
}

// Step is a command line to run in the project's directory.
type Step struct {
	// Does is the kind of the step: lint, mock, person, real or doctor.
	Does string `json:"does"`
	// About describes the step for the user.
	About string `json:"about"`
	Line  string `json:"command"`
}

// Examples lists the examples of the gallery.
type Examples struct {
	Examples []Example `json:"examples"`
}

// Example is one example of the gallery.
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

// Stages lists all stages.
type Stages struct {
	Stages []authoring.StageInfo `json:"stages"`
}

// NewStage is a stage that was written.
type NewStage struct {
	Name  string   `json:"name"`
	Dir   string   `json:"dir"`
	Files []string `json:"files"` // below Dir
	// Before is the stage of the same name that the new stage overrides, "" for none.
	Before string `json:"goes_before,omitempty"`
}

// Pipelines lists all pipelines.
type Pipelines struct {
	Pipelines []authoring.PipelineInfo `json:"pipelines"`
}

// Pipeline is the file of a pipeline.
type Pipeline struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// PipelineCopy is the written copy of a pipeline.
type PipelineCopy struct {
	From string `json:"from"`
	File string `json:"file"`
}

// Origins lists all settings of all settings files, with the file that defines each.
type Origins struct {
	ProjectFile string                    `json:"project_file"`
	UserFile    string                    `json:"user_file"`
	Settings    []authoring.SettingOrigin `json:"settings"`
	Warnings    engine.Diagnostics        `json:"warnings,omitempty"`
}

// SettingChange is a setting that was changed.
type SettingChange struct {
	Key   string                   `json:"key"`
	Set   *authoring.SettingOrigin `json:"set,omitempty"`   // nil if the setting is not listed: an x- key, or no value
	Holds *authoring.SettingOrigin `json:"holds,omitempty"` // the value from another file that takes precedence
}

// Diagnosis holds the checks of doctor.
type Diagnosis struct {
	// Ready reports whether a run with Provider could begin.
	Ready    bool           `json:"ready"`
	Provider string         `json:"provider"`
	Checks   []doctor.Check `json:"checks"`
	ExitCode int            `json:"exit_code"`
}

// Trust names the directory that was added or removed, or lists all trusted directories.
type Trust struct {
	Trusted     string   `json:"trusted,omitempty"`
	Removed     string   `json:"removed,omitempty"`
	Directories []string `json:"directories,omitzero"`
}

// Keys names the key that was added or removed, or the user's own key and the trusted keys.
type Keys struct {
	User    *engine.Key  `json:"own,omitempty"`
	Trusted []engine.Key `json:"trusted,omitzero"`
	Added   *engine.Key  `json:"added,omitempty"`
	Removed *engine.Key  `json:"removed,omitempty"`
}

// Explanations lists the explanations of all codes.
type Explanations struct {
	Explanations []explain.Entry `json:"explanations"`
}

// Version describes the build of the command.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Help is the help text on a subject.
type Help struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
}

// Completion is a shell's script for completion.
type Completion struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

// Schemas lists the schemas of all documents.
type Schemas struct {
	Schemas []Schema `json:"schemas"`
}

// Schema describes the schema of one kind of document.
type Schema struct {
	Name     string   `json:"name"`
	ID       string   `json:"id"` // the value of "schema"; for an event, which has none, its name
	About    string   `json:"about"`
	Commands []string `json:"commands"`
}
