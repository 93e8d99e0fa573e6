package inbox_test

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

// put writes a file into the inbox as a stranger does.
func put(t *testing.T, d *store.Dir, name, text string) {
	t.Helper()
	testkit.OK(t, d.Mkdir(store.InboxDir))
	testkit.OK(t, os.WriteFile(filepath.Join(d.Abs(store.InboxDir), name), []byte(text), 0o644))
}

// names lists a directory of the session.
func names(t *testing.T, d *store.Dir, dir string) []string {
	t.Helper()
	entries := testkit.Must(d.Entries(dir))
	var all []string
	for _, e := range entries {
		if !e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}
