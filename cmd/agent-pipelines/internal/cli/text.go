package cli

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

// DidYouMean suggests the name that is nearest to a word, as the beginning of a hint; "" for none.
func DidYouMean(word string, names []string) string {
	if near := nearest.Name(word, names); near != "" {
		return fmt.Sprintf("did you mean '%s'? ", near)
	}
	return ""
}

// Within is a path as seen from a directory, if it lies in it.
func Within(dir, file string) string {
	if relative, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return file
}

// ShellWord is a word as a shell reads it.
func ShellWord(s string) string {
	if plainWord.MatchString(s) && !strings.HasPrefix(s, "~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func SecondsText(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + "s" }

// NameWidth is how many columns the sessions' names take in a table: 24, or as many as the longest. Those that `start` makes up
// are longer.
func NameWidth[T any](rows []T, name func(T) string) int {
	width := 24
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(name(row)))
	}
	return width
}

// Wrapped are the lines of a question's text, none too long to be read.
func Wrapped(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, screen.Wrap(line, TextWidth, TextWidth)...)
	}
	return lines
}

func OrError(err, other error) error {
	if err == nil {
		return other
	}
	return err
}

// Placed is a place in a file; a value from a flag or a variable has none.
func Placed(file string, line, column int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// plainWord has nothing that a shell would see something in.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9._/~+:@%=-]+$`)

// TextWidth is how many columns the lines of a question have at most.
const TextWidth = 100
