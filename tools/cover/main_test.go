package main

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// U299: the tests of all packages count for a package's coverage, and one below the minimum fails.
func TestReport(t *testing.T) {
	const profile = `mode: set
m/a/x.go:1.1,2.1 8 1
m/a/x.go:3.1,4.1 1 0
m/b/y.go:1.1,2.1 9 0
m/a/z.go:1.1,2.1 1 1
`
	const more = `m/a/x.go:3.1,4.1 1 1
m/b/y.go:1.1,2.1 9 1
m/b/y.go:5.1,6.1 1 0
`
	for name, tt := range map[string]struct {
		least float64
		want  string
		fault string
	}{
		"all have enough": {90, " 100.0 %     10 of    10  m/a\n  90.0 %      9 of    10  m/b\n", ""},
		"one has not": {
			95, " 100.0 %     10 of    10  m/a\n  90.0 %      9 of    10  m/b  less than 95 %\n",
			"1 of 2 packages have less than 95 %",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := packages(profile, "mode: atomic\n"+more)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err = report(&out, all, tt.least)
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
			if (err == nil) != (tt.fault == "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("error %v, want %q", err, tt.fault)
			}
		})
	}
}

func TestNoProfile(t *testing.T) {
	if err := report(io.Discard, nil, 0); err == nil || !strings.Contains(err.Error(), "no package") {
		t.Error(err)
	}
	if _, err := packages("mode: set\nm/a/x.go:1.1,2.1 one 1\n"); err == nil || !strings.Contains(err.Error(), "one 1") {
		t.Error(err)
	}
}
