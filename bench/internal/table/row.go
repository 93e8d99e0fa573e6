package table

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
)

// Unit is the unit of a row's numbers.
type Unit int

// Seconds are shown in ns, µs, ms or s, Bytes in MB of a million bytes.
const (
	Seconds Unit = iota
	Bytes
)

// Row is one measurement and its comparison.
type Row struct {
	// Name describes the measurement.
	Name string
	Unit Unit
	// Ours has one value per round.
	Ours sample.Series
	// Peer describes the comparison: a floor, a peer or a target.
	Peer string
	// Theirs has one value per round, from the same rounds as Ours.
	Theirs sample.Series
	// Each is the number of events behind every value. Default: 1.
	Each int
	// Target is the required ratio as text, "" for none.
	Target string
	// Part is the part of the measurement that returns the row.
	Part string
	// Key names the row in the gate's record, "" if the gate does not use it.
	Key string
}

// Ratio returns ours over theirs, round by round.
func (r Row) Ratio() sample.Series { return r.Ours.Over(r.Theirs) }

// Check returns an error for a row without values, with rounds without a partner, or with values
// that are not positive and finite.
func (r Row) Check() error {
	if len(r.Ours) == 0 || len(r.Ours) != len(r.Theirs) {
		return fmt.Errorf("row %q: %d values beside %d", r.Name, len(r.Ours), len(r.Theirs))
	}
	for _, s := range []sample.Series{r.Ours, r.Theirs, r.Ratio()} {
		for _, v := range s {
			if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
				return fmt.Errorf("row %q: the value %v is not a measurement", r.Name, v)
			}
		}
	}
	return nil
}

// Header is the first line of the table.
const Header = "| part | what | ours | beside | theirs | ratio | target | n |"

// target returns the required ratio, by default "at most 1×" for a row whose peer is its target.
func (r Row) target() string {
	if r.Target == "" && r.Peer == "target" {
		return "at most 1×"
	}
	return r.Target
}

// Write writes the rows as a Markdown table. A value is a median with its middle half (25 % to 75
// %) in brackets. An invalid row is an error.
func Write(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString(Header + "\n|---|---|---:|---|---:|---:|---|---:|\n")
	for _, r := range rows {
		if err := r.Check(); err != nil {
			return err
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Part, r.Name, r.show(r.Ours), r.Peer, r.show(r.Theirs), spread(r.Ratio(), ratio), r.target(), r.count())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Row) count() string {
	if r.Each > 1 {
		return fmt.Sprintf("%d × %d", len(r.Ours), r.Each)
	}
	return fmt.Sprint(len(r.Ours))
}

func (r Row) show(s sample.Series) string {
	if r.Unit == Bytes {
		return spread(s, megabytes)
	}
	return spread(s, seconds)
}

func spread(s sample.Series, show func(float64) string) string {
	low, median, high := show(s.Quantile(0.25)), show(s.Median()), show(s.Quantile(0.75))
	if low == high {
		return median
	}
	return fmt.Sprintf("%s [%s, %s]", median, low, high)
}

func ratio(v float64) string { return digits(v) + "×" }

func megabytes(v float64) string { return digits(v/1e6) + " MB" }

func seconds(v float64) string {
	switch {
	case v < 1e-6:
		return digits(v*1e9) + " ns"
	case v < 1e-3:
		return digits(v*1e6) + " µs"
	case v < time.Second.Seconds():
		return digits(v*1e3) + " ms"
	default:
		return digits(v) + " s"
	}
}

// digits formats a number with about three significant digits, but never drops digits before the point.
func digits(v float64) string {
	switch {
	case v < 0.01:
		return fmt.Sprintf("%.4f", v)
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// The marks around the table in a document. They are HTML comments, so that readers do not see them.
const (
	Begin = "<!-- figures: written by make bench, do not edit -->"
	End   = "<!-- end of figures -->"
)

// Replace returns the document with text between its marks. Each mark must be in the document once, at the end of a
// line and in order.
func Replace(document, text string) (string, error) {
	before, rest, begun := strings.Cut(document, Begin+"\n")
	_, after, ended := strings.Cut(rest, End+"\n")
	if !begun || !ended || strings.Count(document, Begin) != 1 || strings.Count(document, End) != 1 {
		return "", fmt.Errorf("the document needs one line %q and below it one line %q", Begin, End)
	}
	return before + Begin + "\n" + strings.TrimRight(text, "\n") + "\n" + End + "\n" + after, nil
}
