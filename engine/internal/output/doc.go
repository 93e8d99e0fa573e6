// Package output collects an agent's messages and makes the text of output.md from them. The text is valid UTF-8
// without escape sequences, cut at a line to at most 1 MiB, and ends with one newline (REQUIREMENTS U098).
package output
