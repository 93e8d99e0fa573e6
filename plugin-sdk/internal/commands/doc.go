// Package commands holds the process groups of the commands that a plugin runs. A plugin whose kernel has ended kills
// them before its own end: a command that ignores SIGTERM would outlive it.
package commands
