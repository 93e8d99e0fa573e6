// Package result reads an agent's result file (result.json, or the older status.json) and normalizes it once, so that
// later packages read one form. It also collects an agent's messages and makes the text of output.md from them.
//
// The normal form and the precedence are the Bash engine's (BASH-BEHAVIOUR 4.5 to 4.7); REQUIREMENTS U097 defines the
// errors. Start with [Normalize], or with [OutputBuffer] and [CleanOutput].
package result
