//go:build crashpoints

package crash

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
)

// TestDefectsAreFound checks that the matrix detects a kernel with one defect: it acts before a line is written,
// names a file that is not on the disk, or repeats work. At the same point a correct kernel shows no difference.
func TestDefectsAreFound(t *testing.T) {
	tests := []struct{ defect, subject, point, loss string }{
		{"skip-commit", "paid-rerun", "tool.ended", ""},
		{"skip-sync", "stages", "run.committed.strategy", "empty"},
		{"skip-dedupe", "paid-rerun", "tool.recorded", ""},
	}
	p := build(t)
	for _, test := range tests {
		t.Run(test.defect, func(t *testing.T) {
			t.Parallel()
			subj := subjects[slices.IndexFunc(subjects, func(s subject) bool { return s.name == test.subject })]
			c := undisturbed(t, p, subj)
			if found := find(t, func(t testing.TB) { once(t, p, subj, c, 0, test.point, test.loss) }); len(found) > 0 {
				t.Fatalf("without the defect: %q", found)
			}
			subj.env = []string{crashDefect + test.defect, "AGENT_PIPELINES_EVENT_FLUSH_MS=60000"}
			found := find(t, func(t testing.TB) { once(t, p, subj, c, 0, test.point, test.loss) })
			if len(found) == 0 {
				t.Fatal("the defect was not found")
			}
			t.Log(found[0])
		})
	}
}

// find calls do with a replacement of t and returns the faults that do reports.
func find(t testing.TB, do func(testing.TB)) []string {
	f := &findings{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(f)
	}()
	<-done
	return f.faults
}

// findings replaces a test that is expected to fail, and collects its faults.
type findings struct {
	testing.TB
	faults []string
}

func (f *findings) Error(args ...any) { f.faults = append(f.faults, fmt.Sprint(args...)) }

func (f *findings) Errorf(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

func (f *findings) Fatal(args ...any) {
	f.Error(args...)
	runtime.Goexit()
}

func (f *findings) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}
