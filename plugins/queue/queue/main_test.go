package queue

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTestStrategy returns a strategy whose PATH begins with a fake bd, and the file to which that bd writes its
// calls.
func newTestStrategy(t testing.TB, env ...string) (*Strategy, string) {
	t.Helper()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "bd.log")
	env = append([]string{"PATH=" + bin + ":/usr/bin:/bin", "BD_LOG=" + log}, env...)
	return &Strategy{environ: func() []string { return env }}, log
}

func readFile(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
