// Package run has the verbs that run a session, in the foreground or the background, and what they print meanwhile.
// Start with perform, which runs a session in this terminal.
package run
