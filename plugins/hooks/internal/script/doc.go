// Package script is the hook action script: it runs a command of the user in the project, and the command's
// standard output becomes context for the agents. Start with [Action.Run].
package script
