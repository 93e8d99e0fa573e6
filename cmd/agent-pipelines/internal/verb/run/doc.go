// Package run implements the verbs that run a session, in the foreground or in the background.
// Start with perform, which runs a session in this terminal.
package run
