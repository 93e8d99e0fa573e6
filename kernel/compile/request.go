package compile

import (
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Request is the input of a compilation.
type Request struct {
	sources.Roots
	// File is the pipeline file. A relative path is relative to the project; a result of [sources.Roots.FindPipeline]
	// is used unchanged. [Stage] ignores it.
	File string
	// Text is the content of the pipeline file for [Pipeline]. Nil: the file is read.
	Text []byte
	// Session is the name of the plan's session.
	Session string
	// Now becomes compiled_at and created_at.
	Now time.Time
	// Overrides are the settings of the command line. They win over all other settings. Inputs may also be globs and
	// directories.
	Overrides plan.Overrides
	// OverrideLabel returns the text for an override in faults, by its name in the singular, such as "max_cycles".
	// Nil: the name itself.
	OverrideLabel func(override string) string
	// Env are the settings of the environment. They win over the files.
	Env Env
	// Defaults are the settings of configuration files. Stage and pipeline win over them.
	Defaults Defaults
	// DefaultProvider is used where neither a file nor an override names a provider. Empty: a missing provider is a
	// fault.
	DefaultProvider string
	// Catalog resolves the installed components. It must not be nil.
	Catalog Catalog
}

// Defaults are the settings of configuration files, for settings that the pipeline's own files leave open. A zero
// value sets nothing.
type Defaults struct {
	Provider string
	Delay    *float64          // seconds between iterations
	Commands map[string]string // by key; those of stage and pipeline win
	// File and At are the location of the provider's name.
	File string
	At   yamldoc.Pos
}

// Env holds the values of CLAUDE_PIPELINE_PROVIDER, _MODEL and _CONTEXT. The caller reads them.
type Env struct {
	Provider string
	Model    string
	Context  string
}

// Catalog resolves the components that a plan may name.
type Catalog interface {
	// Provider resolves a name or an alias to the canonical name and the provider's default model. The model may be
	// empty.
	Provider(name string) (canonical, defaultModel string, ok bool)
	// Providers lists the canonical names, sorted.
	Providers() []string
	// Termination reports whether a termination strategy of that name exists.
	Termination(name string) bool
	// Terminations lists the names, sorted.
	Terminations() []string
	// HookAction resolves a name or an alias to the canonical name of a plugin's action.
	HookAction(name string) (canonical string, ok bool)
	// HookActions lists the canonical names, sorted, without the kernel's own actions.
	HookActions() []string
}

// Adviser is implemented by a [Catalog] that may know why a component is missing.
type Adviser interface {
	// Advice returns a hint for a component that does not exist; "" if there is none.
	Advice(kind sdk.Kind, name string) string
}

// Result is a successful compilation.
type Result struct {
	Plan *plan.Plan
	// Warnings are sorted by position.
	Warnings yamldoc.Diagnostics
	// Library lists the stage directories of the library that the plan uses ("stages/idea-wizard"), sorted. The plan's
	// prompt paths point to copies below [LibraryDir]; the caller makes the copies.
	Library []string
}

// LibraryDir returns the directory for a session's copies of library stages, relative to the project.
func LibraryDir(session string) string {
	return filepath.Join(".claude", "pipeline-runs", session, "library")
}

// Locator is implemented by a [Catalog] that knows the locality of models.
type Locator interface {
	// Locality returns the locality of a provider's model; "" if it is unknown.
	Locality(provider string) sdk.Locality
}
