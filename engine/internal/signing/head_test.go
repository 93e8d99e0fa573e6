package signing_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
)

// A head that the user kept for a session counts for this session alone.
func TestHeadFile(t *testing.T) {
	userKeys(t)
	state := t.TempDir()
	f := signing.NewHeadFile(state, "web-1", "s")
	if head := testkit.Must(f.Load()); head != nil {
		t.Errorf("%+v", head)
	}
	testkit.OK(t, f.Remove())
	for _, want := range []journal.Head{{}, {Seq: 7, Digest: "abc", Rest: true}, {Seq: 8, Digest: "d", Accepted: &journal.Accepted{Lines: 3, Digest: "all"}}} {
		testkit.OK(t, f.Keep(want))
		testkit.Equal(t, want, *testkit.Must(f.Load()))
	}
	text := testkit.Must(os.ReadFile(filepath.Join(state, "heads/web-1/s.json")))
	for _, other := range []signing.HeadFile{signing.NewHeadFile(state, "web-1", "t"), signing.NewHeadFile(state, "web-2", "s")} {
		testkit.OK(t, other.Keep(journal.Head{}))
	}
	for _, name := range []string{"web-1/t.json", "web-2/s.json"} {
		testkit.OK(t, os.WriteFile(filepath.Join(state, "heads", name), text, 0o600))
	}
	userOfSession := os.Getenv("XDG_STATE_HOME")
	for name, err := range map[string]error{
		"another session": testkit.Error(signing.NewHeadFile(state, "web-1", "t").Load()),
		"another project": testkit.Error(signing.NewHeadFile(state, "web-2", "s").Load()),
	} {
		if !errors.Is(err, signing.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	userKeys(t)
	if _, err := signing.NewHeadFile(state, "web-1", "s").Load(); !errors.Is(err, signing.ErrInvalid) {
		t.Errorf("another user: %v", err)
	}
	t.Setenv("XDG_STATE_HOME", userOfSession)
	testkit.OK(t, os.Chmod(filepath.Join(state, "heads/web-1/s.json"), 0o644))
	if _, err := f.Load(); err == nil || errors.Is(err, signing.ErrInvalid) {
		t.Errorf("a file for all: %v", err)
	}
	testkit.OK(t, f.Remove())
	testkit.OK(t, os.RemoveAll(filepath.Join(state, "heads/web-1")))
	testkit.OK(t, os.WriteFile(filepath.Join(state, "heads/web-1"), nil, 0o600))
	testkit.Fails(t, f.Keep(journal.Head{}), "write the heads of journals")
	testkit.Fails(t, f.Remove(), "remove the heads of journals")
}

// FuzzHeadFile reads any content: no content counts but one that Keep wrote.
func FuzzHeadFile(f *testing.F) {
	f.Setenv("XDG_STATE_HOME", f.TempDir())
	state := f.TempDir()
	file, path := signing.NewHeadFile(state, "web-1", "s"), filepath.Join(state, "heads/web-1/s.json")
	kept := journal.Head{Seq: 7, Digest: "abc", Rest: true}
	testkit.OK(f, file.Keep(kept))
	text := testkit.Must(os.ReadFile(path))
	f.Add(text)
	f.Add([]byte(`{"project":"web-1","session":"s"}`))
	f.Add([]byte("[]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		testkit.OK(t, os.WriteFile(path, text, 0o600))
		if head, err := file.Load(); err == nil {
			testkit.Equal(t, kept, *head)
		} else if !errors.Is(err, signing.ErrInvalid) {
			t.Error(err)
		}
	})
}
