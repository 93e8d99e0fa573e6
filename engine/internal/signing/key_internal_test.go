package signing

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FuzzParseTrusted checks that a list of keys does not change when it is written and parsed again, and that no key
// occurs in two forms.
func FuzzParseTrusted(f *testing.F) {
	const public = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	f.Add(public + " ann\n")
	f.Add(public + " ann\n" + public + " bob")
	f.Add(public + "\n")
	f.Add("ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB ann\n")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parseTrusted([]byte(text))
		if err != nil {
			return
		}
		for _, key := range keys {
			testkit.Equal(t, key.Public, publicText(testkit.Must(parsePublic(key.Public))))
		}
		testkit.Equal(t, keys, testkit.Must(parseTrusted(renderTrusted(keys))))
	})
}

// A full state directory is no invalid setting: the hint is to free space there.
func TestAccessError(t *testing.T) {
	f := folder{dir: "/state/heads/web-1", holds: "the heads of journals"}
	for errno, want := range map[syscall.Errno]failure.Kind{syscall.ENOSPC: failure.StateCorrupt, syscall.EDQUOT: failure.StateCorrupt, syscall.EACCES: failure.ConfigInvalid} {
		err := failure.From(f.accessError("write", &fs.PathError{Op: "write", Path: "x", Err: errno}))
		testkit.Equal(t, want, err.Kind)
		if !strings.Contains(err.Hint, f.dir) || want == failure.StateCorrupt && !strings.Contains(err.Hint, "free some space") {
			t.Error(err.Hint)
		}
	}
}
