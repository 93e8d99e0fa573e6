package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// ErrWorse means that a ratio exceeds its tolerance, ErrNoRatios that no ratio is recorded yet.
var (
	ErrWorse    = errors.New("ratios have become worse than the record allows")
	ErrNoRatios = errors.New("no ratios are recorded yet; run make bench-baseline on an idle machine")
)

// Measure measures the named parts and returns their rows. again requests more rounds.
type Measure func(ctx context.Context, parts []string, again bool) ([]table.Row, error)

// looks is the number of measurements before a row counts as worse. Other load affects some measurements, a slower
// program all of them.
const looks = 3

// Run measures the rows of a record and prints them. A row over its tolerance is measured again
// with more rounds, up to two times, and its best ratio counts. If rows remain worse, the error is
// [ErrWorse].
//
// [ErrNoRatios] and all other errors mean that the comparison is incomplete.
func Run(ctx context.Context, r Record, measure Measure, out io.Writer) error {
	if r.Machine == "" {
		return ErrNoRatios
	}
	rows, err := measure(ctx, r.Parts(), false)
	if err != nil {
		return err
	}
	found, err := r.judge(rows)
	if err != nil {
		return err
	}
	for range looks - 1 {
		suspects := worse(found)
		if len(suspects) == 0 {
			break
		}
		if err := writeTable(out, suspects); err != nil {
			return err
		}
		fmt.Fprintln(out, "measuring these once more, with more rounds")
		if found, err = again(ctx, found, measure); err != nil {
			return err
		}
	}
	if err := writeTable(out, found); err != nil {
		return err
	}
	failed := worse(found)
	if len(failed) == 0 {
		return nil
	}
	for _, f := range failed {
		fmt.Fprintf(out, "%s: %s\n  tolerance: %s\n  measure again: go run ./bench -only %s\n", f.Key, f.description, f.Why, f.Part)
	}
	return fmt.Errorf("%w: %d of %d; if that is intended, run make bench-baseline to record them again. They were recorded on: %s", ErrWorse, len(failed), len(found), r.Machine)
}

// again measures the parts of the worse findings again. It returns all findings, each with its better ratio.
func again(ctx context.Context, found []finding, measure Measure) ([]finding, error) {
	second := Record{}
	for _, f := range worse(found) {
		second.Rows = append(second.Rows, f.Row)
	}
	rows, err := measure(ctx, second.Parts(), true)
	if err != nil {
		return nil, err
	}
	renewed, err := second.judge(rows)
	if err != nil {
		return nil, err
	}
	all := slices.Clone(found)
	for i, f := range all {
		if j := slices.IndexFunc(renewed, func(n finding) bool { return n.Key == f.Key }); j >= 0 && renewed[j].now < f.now {
			all[i] = renewed[j]
		}
	}
	return all, nil
}

// Renew returns the record with the ratios of the measured rows. Tolerances and reasons stay. made describes the
// machine.
func (r Record) Renew(rows []table.Row, made string) (Record, error) {
	found, err := r.judge(rows)
	if err != nil {
		return r, err
	}
	renewed := Record{Machine: made}
	for _, f := range found {
		f.Ratio = f.now
		renewed.Rows = append(renewed.Rows, f.Row)
	}
	return renewed, nil
}

// finding is the current ratio of a row.
type finding struct {
	Row
	now         float64
	description string // description in the table
}

func worse(found []finding) []finding {
	var failed []finding
	for _, f := range found {
		if f.now > f.Most() {
			failed = append(failed, f)
		}
	}
	return failed
}

// judge returns a finding for each row of the record. A recorded row without a measured row is an error.
func (r Record) judge(rows []table.Row) ([]finding, error) {
	var found []finding
	for _, row := range r.Rows {
		i := slices.IndexFunc(rows, func(t table.Row) bool { return t.Key == row.Key })
		if i < 0 {
			return nil, fmt.Errorf("part %s made no row %q: the record names one that is not measured here", row.Part, row.Key)
		}
		if err := rows[i].Check(); err != nil {
			return nil, err
		}
		found = append(found, finding{row, rows[i].Ratio().Median(), rows[i].Name + ", beside: " + rows[i].Peer})
	}
	return found, nil
}

func writeTable(out io.Writer, found []finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "row\trecorded\tat most\tnow\t")
	for _, f := range found {
		verdict := "ok"
		if f.now > f.Most() {
			verdict = "WORSE"
		}
		fmt.Fprintf(w, "%s\t%.2f×\t%.2f×\t%.2f×\t%s\n", f.Key, f.Ratio, f.Most(), f.now, verdict)
	}
	return w.Flush()
}
