// Package command decides which command lines of a model may run without a shell.
// Start with [Rules.Judge].
//
// Guarantees: no shell reads the line; the named program runs; its arguments name no place outside the workspace and no
// command. The package does not restrict project code: a build, a test run, an install script or a program of the
// project runs code that the same model may have written. The sandbox (policy.sandbox) and approvals (policy.approvals)
// restrict it. Programs that a user adds to the list have only the rules for all programs.
//
// [Environ] stops git from running hooks, file monitors, pagers and editors, and from using repositories above the
// workspace.
package command
