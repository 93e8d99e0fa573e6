// Package prompt builds the text for the agent: the stage's template with its variables replaced, the data of the
// node's contract, and the sections of policy.context.
//
// Variables are replaced as plain text in one pass, so a value that looks like a variable stays as
// it is (REQUIREMENTS U093, D31). Start with [Source.Build]. [ReplaceVariables] only replaces variables.
package prompt
