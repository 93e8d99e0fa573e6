package question_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openDir(t *testing.T) *store.Dir {
	_, d := testkit.Session(t, t.TempDir(), "auth")
	return d
}

// put writes a resolution like a user.
func put(t *testing.T, d *store.Dir, id, text string) {
	t.Helper()
	name := d.Abs(store.ResolutionFile(id))
	testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
	testkit.OK(t, os.WriteFile(name, []byte(text), 0o644))
}
