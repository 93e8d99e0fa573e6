// Package prompt turns a stage's prompt template into the text for the agent.
//
// Variables are replaced as plain text in one pass, so a value that looks like a variable stays as
// it is (REQUIREMENTS U093, D31). It reads no files: start with [Resolve].
package prompt
