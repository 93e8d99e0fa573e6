// Package output collects an agent's messages and makes the text of output.md from them: no escape
// sequences, valid UTF-8, at most 1 MiB cut at a line, one newline at the end (REQUIREMENTS U098).
package output
