package command

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// DefaultPrograms returns the allowed programs for a policy that names none (REQUIREMENTS K24).
func DefaultPrograms() []string {
	return []string{"dotnet", "npm", "yarn", "git", "make", "cargo", "go", "python", "node"}
}

// Rules decide which commands may run. They are not modified by use and are safe for concurrent use.
type Rules struct {
	// Workspace is the directory of the commands and of their arguments.
	Workspace *workspace.Dir
	// Allowed are names of programs.
	Allowed []string
	// Path is the value of PATH on which programs are looked up, see [SearchPath].
	Path string
	// Offline refuses commands that are known to use the network.
	Offline bool
	// Guarded reports whether a path relative to the workspace holds secrets: no argument may name an existing path of
	// this kind. Nil guards no path.
	Guarded func(path string) bool
}

// Command is a command that may run.
type Command struct {
	// Args are the program's name and its arguments.
	Args []string
	// Path is the executable, absolute and outside the workspace.
	Path string
	// Dir is the working directory, relative to the workspace, without links.
	Dir string
	// Effect is the kind of side effect, which decides whether the command may be repeated after a crash.
	Effect sdk.Effect
	// Changes are the arguments that the command may change, as paths relative to the workspace. They are empty for a
	// command that changes no files, or only records them (git add, git commit).
	Changes []string
	// Repeatable is true if the command may run again after a temporary failure, because a repeat does no harm.
	Repeatable bool
}

// Line returns the command in its canonical form for policies: quotes and spaces of the model cannot hide anything in it.
func (c Command) Line() string { return JoinWords(c.Args) }
