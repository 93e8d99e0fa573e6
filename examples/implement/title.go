// Package text has small helpers for texts.
package text

import "strings"

// Title is the text without white space around it.
func Title(text string) string { return strings.TrimSpace(text) }
