package table

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
)

// Unit is what the numbers of a row count.
type Unit int

// Seconds are shown as ns to s, Bytes as MB of a million bytes. Of PerSecond more is better; a Count may be nothing.
const (
	Seconds Unit = iota
	Bytes
	PerSecond
	Count
)

// Row is one measurement beside what it is compared with.
type Row struct {
	// What was measured, in words.
	What string
	Unit Unit
	// Ours has one value for each round.
	Ours sample.Series
	// Peer says what it is compared with: a floor, a peer or a target.
	Peer string
	// Theirs has one value for each round, from the same rounds as Ours.
	Theirs sample.Series
	// Each is the number of events behind every value, 1 where the value is the event. Zero means 1.
	Each int
	// Target is what the ratio has to be, in words, "" where nobody asked for anything.
	Target string
	// Part is the part of the measurement that makes the row.
	Part string
	// Key names the row in the record of the gate, "" for one that the gate does not look at.
	Key string
}

// Ratio is ours over theirs, round by round.
func (r Row) Ratio() sample.Series { return r.Ours.Over(r.Theirs) }

// Check says what is wrong with a row that cannot be shown: no values, rounds without a partner, or
// values that are no positive finite numbers. A count of ours may be zero.
func (r Row) Check() error {
	if len(r.Ours) == 0 || len(r.Ours) != len(r.Theirs) {
		return fmt.Errorf("row %q: %d values beside %d", r.What, len(r.Ours), len(r.Theirs))
	}
	for _, s := range []sample.Series{r.Ours, r.Theirs, r.Ratio()} {
		for _, v := range s {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || v == 0 && r.Unit != Count {
				return fmt.Errorf("row %q: the value %v is no measurement", r.What, v)
			}
		}
	}
	return nil
}

// Header is the first line of the table.
const Header = "| part | what | ours | beside | theirs | ratio | target | n |"

// target is what the ratio has to be; where the row stands beside its target, that says so.
func (r Row) target() string {
	if r.Target == "" && r.Peer == "target" {
		return "at most 1×"
	}
	return r.Target
}

// Write writes the rows as a Markdown table. A value is a median with its middle half (25 % to 75 %)
// in brackets. It is an error if a row cannot be shown.
func Write(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString(Header + "\n|---|---|---:|---|---:|---:|---|---:|\n")
	for _, r := range rows {
		if err := r.Check(); err != nil {
			return err
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Part, r.What, r.show(r.Ours), r.Peer, r.show(r.Theirs), spread(r.Ratio(), ratio), r.target(), r.count())
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
	switch r.Unit {
	case Bytes:
		return spread(s, megabytes)
	case PerSecond:
		return spread(s, func(v float64) string { return digits(v) + "/s" })
	case Count:
		return spread(s, count)
	default:
		return spread(s, seconds)
	}
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

// count shows a whole number as such.
func count(v float64) string {
	if v == math.Trunc(v) {
		return fmt.Sprintf("%.0f", v)
	}
	return digits(v)
}

// digits shows three significant digits, all of those before the point.
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
