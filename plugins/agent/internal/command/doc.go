// Package command judges the command lines that a model wants to run, and says how they are run without a shell.
//
// Start with [Rules.Judge]. A line is read as a shell would read it, and has to be one program with its arguments, all of
// them literal: no operator, expansion, redirection, assignment or glob. The program is a bare name from a list, found on
// PATH outside the workspace. Then come the arguments: none may lead out of the workspace, and none may make the program
// run something that was not judged. For the programs of the default list that is decided by a table for each of them,
// which for git, go, npm and the like names the subcommands that are known, and refuses all others.
//
// What this promises: no shell reads the line; the program is the one that is meant; its arguments name no place outside
// the workspace and no command. What it cannot promise: a build, a test run, a package's install script or a program of
// the project is code of the project, written perhaps by the same model, and may do whatever the process may. For that
// there is the sandbox (policy.sandbox), and the question to a person (policy.approvals). Nor does the table hold for
// programs that a user adds to the list, beyond the rules that hold for all.
//
// Git never runs hooks, file monitors, pagers or editors here, nor repositories above the workspace: [Environ] says so to
// it. A hook that a project keeps among its files (husky, say) would otherwise be a way to run what was written.
package command
