package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// Clean returns a text as one printable line: control characters, including the first bytes of escape sequences, become
// spaces, and successive spaces become one. Texts of agents thus cannot move the cursor.
func Clean(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// Lines returns the lines of a text, printable as by [Clean], but with their spaces except trailing spaces.
func Lines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(Printable(line), " "))
	}
	return lines
}

// Plural formats a number of things: "1 node", "3 nodes".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Printable replaces control characters by spaces as [Clean] does, and keeps the other spaces.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)
}

// EachText changes every text in a decoded JSON value, in place, and returns the value. It keeps the keys.
func EachText(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case []any:
		for i := range v {
			v[i] = EachText(v[i], change)
		}
	case map[string]any:
		for k := range v {
			v[k] = EachText(v[k], change)
		}
	}
	return value
}

// Cut shortens a text to at most limit columns of a terminal, with an ellipsis at the end.
func Cut(text string, limit int) string { return ansi.Truncate(text, limit, "…") }

// Columns returns the width of a text in columns of a terminal.
func Columns(text string) int { return ansi.StringWidth(text) }

// Age formats a duration in one or two units: "12s", "5m", "1h2m", "3d4h".
func Age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd%dh", int(d.Hours())/24, int(d.Hours())%24)
	}
}

// DurationText formats the duration of finished work: milliseconds below a second, tenths of a second below a minute,
// then whole seconds: "340ms", "12.3s", "1h2m3s".
func DurationText(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

// Clock formats a running time as minutes and seconds: "0:07", "1:02:03".
func Clock(d time.Duration) string {
	s := int(max(d, 0).Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Count formats a number with separated thousands: 12,345.
func Count(n int64) string {
	digits := strconv.FormatInt(max(n, -n), 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n < 0 {
		return "-" + digits
	}
	return digits
}

// Joined joins the parts that are not empty with " · ".
func Joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " · ")
}
