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
	// Protected reports whether no command may change a path relative to the workspace. Nil protects no path.
	Protected func(path string) bool
	// Secrets are names of files and directories with secrets, as globs, at any depth. Git shows none of their content.
	Secrets []string
}

// Command is a command that may run.
type Command struct {
	// Args are the program's name and its arguments, for policies and users.
	Args []string
	// Run are the arguments with which the program runs: those of Args, which for git exclude files with secrets.
	Run []string
	// Path is the executable, absolute and outside the workspace.
	Path string
	// Dir is the working directory, relative to the workspace, without links.
	Dir string
	// Effect is the kind of side effect, which decides whether the command may be repeated after a crash.
	Effect sdk.Effect
	// Repeatable is true if the command may run again after a temporary failure, because a repeat does no harm.
	Repeatable bool
	// Destructive is true if the command may lose changes, files, commits or references that nothing restores.
	Destructive bool
	// External is true if the command connects to an address of its arguments, or to a repository elsewhere.
	External bool
}

// Line returns the command in its canonical form for policies: quotes and spaces of the model cannot hide anything in it.
func (c Command) Line() string { return JoinWords(c.Args) }
