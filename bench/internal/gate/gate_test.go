package gate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/bench/internal/gate"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func recorded() gate.Record {
	return gate.Record{Machine: "a machine", Rows: []gate.Row{
		{Key: "iteration", Part: "iterations", Ratio: 2, Tolerance: 1.35, Why: "disks differ"},
		{Key: "call", Part: "calls", Ratio: 1.4, Tolerance: 1.25, Why: "schedulers differ"},
		{Key: "call-tls", Part: "calls", Ratio: 3, Tolerance: 1.25, Why: "processors differ"},
	}}
}

// product simulates a program with rows that are slower than recorded, by another factor in each measurement.
type product struct {
	slower map[string][3]float64 // factors by key
	parts  []string              // parts of each measurement
}

func (p *product) measure(_ context.Context, parts []string, again bool) ([]table.Row, error) {
	p.parts = append(p.parts, strings.Join(parts, " "))
	if again != (len(p.parts) > 1) {
		return nil, errors.New("more rounds are for repeated parts")
	}
	var rows []table.Row
	for _, r := range recorded().Rows {
		factor := 1.0
		if by, is := p.slower[r.Key]; is {
			factor = by[len(p.parts)-1]
		}
		floor := sample.Series{1, 1.5, 0.8} // rounds of different speed, on both sides
		ours := make(sample.Series, len(floor))
		for i := range floor {
			ours[i] = floor[i] * r.Ratio * factor
		}
		ours[2] *= 5 // other load
		rows = append(rows, table.Row{Name: "what " + r.Key + " is", Peer: "floor", Key: r.Key, Part: r.Part, Ours: ours, Theirs: floor})
	}
	return rows, nil
}

func TestRun(t *testing.T) {
	tests := map[string]struct {
		slower map[string][3]float64
		fails  bool
		parts  []string
		texts  []string
	}{
		"as recorded":             {parts: []string{"iterations calls"}, texts: []string{"iteration  2.00×     2.70×    2.00×  ok"}},
		"faster":                  {slower: map[string][3]float64{"call": {0.5}}, parts: []string{"iterations calls"}, texts: []string{"0.70×"}},
		"slower within tolerance": {slower: map[string][3]float64{"iteration": {1.3}}, parts: []string{"iterations calls"}, texts: []string{"2.60×  ok"}},
		"slower": {
			slower: map[string][3]float64{"iteration": {1.4, 1.4, 1.4}}, fails: true, parts: []string{"iterations calls", "iterations", "iterations"},
			texts: []string{"iteration  2.00×     2.70×    2.80×  WORSE", "what iteration is, beside: floor", "disks differ", "go run ./bench -only iterations"},
		},
		"slower for a moment": {
			slower: map[string][3]float64{"call": {2, 1.1}}, parts: []string{"iterations calls", "calls"}, texts: []string{"2.80×  WORSE", "1.54×  ok"},
		},
		"slower for two moments": {
			slower: map[string][3]float64{"call": {2, 1.8, 1.1}}, parts: []string{"iterations calls", "calls", "calls"}, texts: []string{"2.52×  WORSE", "1.54×  ok"},
		},
		"slower, and noise on top": { // the best measurement counts
			slower: map[string][3]float64{"call": {1.5, 3, 2}}, fails: true, parts: []string{"iterations calls", "calls", "calls"}, texts: []string{"2.10×  WORSE"},
		},
		"two of one part": {
			slower: map[string][3]float64{"call": {2, 2, 2}, "call-tls": {2, 1, 1}}, fails: true, parts: []string{"iterations calls", "calls", "calls"}, texts: []string{"6.00×  WORSE", "3.00×  ok"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &product{slower: tt.slower}
			var out strings.Builder
			err := gate.Run(t.Context(), recorded(), p.measure, &out)
			if errors.Is(err, gate.ErrWorse) != tt.fails || err != nil && !tt.fails {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(tt.parts, p.parts); diff != "" {
				t.Errorf("measured (-want +got):\n%s", diff)
			}
			for _, part := range tt.texts {
				if !strings.Contains(out.String(), part) {
					t.Errorf("it does not say %q:\n%s", part, &out)
				}
			}
		})
	}
}

func TestRunRefusesMissingMeasurements(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]gate.Measure{
		"a row less": func(context.Context, []string, bool) ([]table.Row, error) { return nil, nil },
		"no measurement": func(ctx context.Context, _ []string, _ bool) ([]table.Row, error) {
			rows, err := (&product{}).measure(ctx, nil, false)
			rows[0].Theirs = sample.Series{0, 0, 0}
			return rows, err
		},
		"an error": func(context.Context, []string, bool) ([]table.Row, error) { return nil, broken },
	}
	for name, measure := range tests {
		t.Run(name, func(t *testing.T) {
			if err := gate.Run(t.Context(), recorded(), measure, &strings.Builder{}); err == nil || errors.Is(err, gate.ErrWorse) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNoRatiosYet checks that a record without ratios can be read, and that the gate fails with it unmeasured.
func TestNoRatiosYet(t *testing.T) {
	r := recorded()
	r.Machine = ""
	for i := range r.Rows {
		r.Rows[i].Ratio = 0
	}
	file := filepath.Join(t.TempDir(), "baseline.json")
	if err := r.Write(file); err != nil {
		t.Fatal(err)
	}
	r, err := gate.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &product{}
	if err := gate.Run(t.Context(), r, p.measure, &strings.Builder{}); !errors.Is(err, gate.ErrNoRatios) || len(p.parts) > 0 {
		t.Errorf("got %v after measuring %v", err, p.parts)
	}
}

// TestRenew checks that ratios are replaced, tolerance and reason stay, and the file can be read.
func TestRenew(t *testing.T) {
	p := &product{slower: map[string][3]float64{"iteration": {1.5}}}
	rows, err := p.measure(t.Context(), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := recorded().Renew(rows, "another machine")
	if err != nil {
		t.Fatal(err)
	}
	want := recorded()
	want.Machine, want.Rows[0].Ratio = "another machine", 3
	file := filepath.Join(t.TempDir(), "baseline.json")
	if err := renewed.Write(file); err != nil {
		t.Fatal(err)
	}
	got, err := gate.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	round := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })
	if diff := cmp.Diff(want, got, round); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	row := `{"key":"a","part":"b","ratio":1,"room":1.2,"why":"c"}`
	for name, text := range map[string]string{
		"no JSON": "x", "none": `{"rows":[]}`, "unknown": `{"rows":[` + row + `],"more":1}`, "twice": `{"rows":[` + row + "," + row + `]}`,
		"no ratio":     strings.Replace(`{"made":"x","rows":[`+row+`]}`, `"ratio":1`, `"ratio":0`, 1),
		"no tolerance": strings.Replace(`{"rows":[`+row+`]}`, "1.2", "1", 1), "no reason": strings.Replace(`{"rows":[`+row+`]}`, `"c"`, `""`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "baseline.json")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := gate.Read(file); err == nil {
				t.Error("it is read")
			}
		})
	}
	if _, err := gate.Read("absent.json"); err == nil {
		t.Error("a file that does not exist is read")
	}
}
