package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// didYouMean suggests the name that is nearest to a word, as the beginning of a hint; "" for none.
func didYouMean(word string, names []string) string {
	if near := nearest.Name(word, names); near != "" {
		return fmt.Sprintf("did you mean '%s'? ", near)
	}
	return ""
}

// within is a path as seen from a directory, if it lies in it.
func within(dir, file string) string {
	if relative, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return file
}

// shellWord is a word as a shell reads it.
func shellWord(s string) string {
	if plainWord.MatchString(s) && !strings.HasPrefix(s, "~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func secondsText(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + "s" }

// nameWidth is how many columns the sessions' names take in a table: 24, or as many as the longest. Those that `start` makes up
// are longer.
func nameWidth[T any](rows []T, name func(T) string) int {
	width := 24
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(name(row)))
	}
	return width
}

// wrapped are the lines of a question's text, none too long to be read.
func wrapped(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, screen.Wrap(line, textWidth, textWidth)...)
	}
	return lines
}

func orError(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// placed is a place in a file; a value from a flag or a variable has none.
func placed(file string, line, column int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// plainWord has nothing that a shell would see something in.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9._/~+:@%=-]+$`)

// textWidth is how many columns the lines of a question have at most.
const textWidth = 100
