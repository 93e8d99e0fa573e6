package measure

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
)

func TestParseMetrics(t *testing.T) {
	got := parseMetrics([]byte(`goos: linux
BenchmarkBesideFloor-2   	       1	  54000 ns/op	       300.5 append-ns/line	      100 raw-ns/line
BenchmarkBesideFloor-2   	       1	  64000 ns/op	       400 append-ns/line	      oops raw-ns/line
Benchmark of nothing in particular
PASS
`))
	want := map[string]sample.Series{"ns/op": {54000, 64000}, "append-ns/line": {300.5, 400}, "raw-ns/line": {100}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzParseMetrics checks that parseMetrics accepts any output and uses only result lines.
func FuzzParseMetrics(f *testing.F) {
	f.Add("BenchmarkX-2 1 5 ns/op 3 x/line\nPASS\n")
	f.Add("Benchmark")
	f.Fuzz(func(t *testing.T, text string) {
		if got := parseMetrics([]byte(text)); len(got) > 0 && !strings.Contains(text, "Benchmark") {
			t.Errorf("%q gives %v", text, got)
		}
	})
}
