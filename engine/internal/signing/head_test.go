package signing_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// openSession opens the directory of a session in a project.
func openSession(t testing.TB, project, session string) *store.Dir {
	t.Helper()
	p := testkit.Must(store.OpenProject(project))
	d := testkit.Must(p.Create(session))
	t.Cleanup(func() { _, _ = d.Close(), p.Close() })
	return d
}

// A head that the user kept for a session counts for this session alone.
func TestHeadFile(t *testing.T) {
	userKeys(t)
	state, project := t.TempDir(), t.TempDir()
	d := openSession(t, project, "s")
	f := signing.NewHeadFile(state, "web-1", d)
	if head := testkit.Must(f.Load()); head != nil || f.MayExist() {
		t.Errorf("%+v", head)
	}
	testkit.OK(t, f.Remove())
	for _, want := range []journal.Head{{}, {Seq: 7, Digest: "abc", Run: "PL-1", Rest: true}, {Seq: 8, Digest: "d", Accepted: &journal.Accepted{Lines: 3, Digest: "all"}}} {
		testkit.OK(t, f.Keep(want))
		testkit.Equal(t, want, *testkit.Must(f.Load()))
	}
	testkit.Equal(t, true, f.MayExist())
	text := testkit.Must(os.ReadFile(filepath.Join(state, "heads/web-1/s.json")))
	otherSession, otherProject := signing.NewHeadFile(state, "web-1", openSession(t, project, "t")), signing.NewHeadFile(state, "web-2", d)
	for name, other := range map[string]signing.HeadFile{"web-1/t.json": otherSession, "web-2/s.json": otherProject} {
		testkit.OK(t, other.Keep(journal.Head{}))
		testkit.OK(t, os.WriteFile(filepath.Join(state, "heads", name), text, 0o600))
		if err := testkit.Error(other.Load()); !errors.Is(err, signing.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	userOfSession := os.Getenv("XDG_STATE_HOME")
	userKeys(t)
	if _, err := signing.NewHeadFile(state, "web-1", d).Load(); !errors.Is(err, signing.ErrInvalid) {
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

// The copy of a head goes with the session. It names its signer, and counts for a session of this name alone.
func TestCopyOfHead(t *testing.T) {
	ann := testkit.Must(userKeys(t).PublicKey())
	d := openSession(t, t.TempDir(), "s")
	f := signing.NewHeadFile(t.TempDir(), "web-1", d)
	rest := journal.Head{Seq: 7, Digest: "abc", Rest: true}
	testkit.OK(t, f.Keep(rest))
	testkit.OK(t, f.Keep(journal.Head{Seq: 8, Digest: "d"})) // not at rest
	testkit.Equal(t, signing.Copy{At: &rest, Signer: ann, Trusted: true}, f.LoadCopy())

	keys := userKeys(t)
	elsewhere := signing.NewHeadFile(t.TempDir(), "web-2", d)
	testkit.Equal(t, signing.Copy{At: &rest, Signer: ann}, elsewhere.LoadCopy())
	testkit.OK(t, keys.Trust(testkit.Must(signing.NewKey(ann.Public, "ann"))))
	testkit.Equal(t, signing.Copy{At: &rest, Signer: signing.Key{Public: ann.Public, Name: "ann"}, Trusted: true}, elsewhere.LoadCopy())

	text := testkit.Must(d.Read(store.HeadFile, 1<<20))
	other := openSession(t, t.TempDir(), "other")
	testkit.OK(t, other.Replace(store.HeadFile, text))
	testkit.Equal(t, signing.Copy{}, signing.NewHeadFile(t.TempDir(), "web-2", other).LoadCopy())
	for _, damaged := range [][]byte{nil, []byte("{"), bytes.Replace(text, []byte(`"seq":7`), []byte(`"seq":6`), 1), bytes.Repeat([]byte{' '}, 2<<20)} {
		testkit.OK(t, d.Replace(store.HeadFile, damaged))
		testkit.Equal(t, signing.Copy{}, elsewhere.LoadCopy())
	}
}

// The heads of a project that is gone are removed when another project gets its first one, but not soon.
func TestHeadsOfProjectsThatAreGone(t *testing.T) {
	userKeys(t)
	state, old := t.TempDir(), time.Now().Add(-100*24*time.Hour)
	keep := func(name, project string, used time.Time) {
		testkit.OK(t, signing.NewHeadFile(state, name, openSession(t, project, "s")).Keep(journal.Head{}))
		testkit.OK(t, os.Chtimes(filepath.Join(state, "heads", name), used, used))
	}
	removed := func(name string, used time.Time) {
		project := t.TempDir()
		keep(name, project, used)
		testkit.OK(t, os.RemoveAll(project))
	}
	keep("present", t.TempDir(), old)
	removed("unmounted", time.Now())
	removed("gone", old)
	removed("unknown", old) // as an older version wrote it
	file := filepath.Join(state, "heads/unknown/s.json")
	testkit.OK(t, os.WriteFile(file, []byte(`{"project":"unknown","session":"s"}`), 0o600))
	testkit.OK(t, os.Chtimes(filepath.Dir(file), old, old))
	keep("new", t.TempDir(), time.Now())
	var left []string
	for _, e := range testkit.Must(os.ReadDir(filepath.Join(state, "heads"))) {
		left = append(left, e.Name())
	}
	testkit.Equal(t, []string{"new", "present", "unknown", "unmounted"}, left)
}

// FuzzHeadFile reads any content: no content counts but one that Keep wrote.
func FuzzHeadFile(f *testing.F) {
	f.Setenv("XDG_STATE_HOME", f.TempDir())
	state := f.TempDir()
	file, path := signing.NewHeadFile(state, "web-1", openSession(f, f.TempDir(), "s")), filepath.Join(state, "heads/web-1/s.json")
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
