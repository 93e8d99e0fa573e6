package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// DidYouMean returns the beginning of a hint that suggests the name nearest to word; "" for none.
func DidYouMean(word string, names []string) string {
	if near := nearest.Name(word, names); near != "" {
		return fmt.Sprintf("did you mean '%s'? ", near)
	}
	return ""
}

// RelativePath returns file relative to dir if it is inside dir, else file.
func RelativePath(dir, file string) string {
	if relative, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(relative) {
		return relative
	}
	return file
}

// ShellWord quotes a word for a shell if necessary.
func ShellWord(s string) string {
	if plainWord.MatchString(s) && !strings.HasPrefix(s, "~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// SecondsText returns a number of seconds as text, for example "1.5s".
func SecondsText(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + "s" }

// NameWidth returns the width of a table's session column: 24, or the longest name. Names that `start` generates are
// longer than 24.
func NameWidth[T any](rows []T, name func(T) string) int {
	width := 24
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(name(row)))
	}
	return width
}

// Table is a table of aligned columns, which tabs separate.
type Table struct{ *tabwriter.Writer }

// NewTable returns a table with a header. The caller ends it.
func NewTable(to io.Writer, header ...any) Table {
	t := Table{tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)}
	if len(header) > 0 {
		fmt.Fprintln(t, header...)
	}
	return t
}

// End writes the table. [Output] records the error.
func (t Table) End() { _ = t.Flush() }

// YesNo returns a condition as a word.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// WrapText returns the lines of a question's text, wrapped at TextWidth columns.
func WrapText(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, screen.Wrap(line, TextWidth, TextWidth)...)
	}
	return lines
}

// Position returns "file:line:column", or file alone if line is 0, as for a value from a flag or a variable.
func Position(file string, line, column int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d:%d", file, line, column)
}

// WritePrintable writes lines that quote untrusted files of the project, without control characters.
func WritePrintable(to io.Writer, text string) {
	fmt.Fprintln(to, strings.Join(screen.Lines(text), "\n"))
}

// Printable returns a function that writes a result that quotes untrusted files of the project, without control characters.
func Printable[T any](write func(to io.Writer, result T)) func(to io.Writer, result T) {
	return func(to io.Writer, result T) {
		var text strings.Builder
		write(&text, result)
		WritePrintable(to, strings.TrimRight(text.String(), "\n"))
	}
}

// plainWord matches a word without characters that a shell interprets.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9._/~+:@%=-]+$`)

// TextWidth is the maximum number of columns of a question's text.
const TextWidth = 100
