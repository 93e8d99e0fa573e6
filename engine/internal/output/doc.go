// Package output collects what an agent says and makes of it the text of output.md: no escape
// sequences, valid UTF-8, at most 1 MiB cut at a line, one newline at the end (REQUIREMENTS U098).
package output
