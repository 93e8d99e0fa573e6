// Package text has small helpers for texts.
package text

import "strings"

// Title returns the text without surrounding white space.
func Title(text string) string { return strings.TrimSpace(text) }
