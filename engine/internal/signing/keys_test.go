package signing_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// userKeys returns the keys of a new user.
func userKeys(t *testing.T) signing.Keys {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	return signing.UserKeys()
}

// Concurrent first calls return the same key, which only its user can read.
func TestOneKeyPair(t *testing.T) {
	keys := userKeys(t)
	var wg sync.WaitGroup
	got := make([]signing.Key, 8)
	for i := range got {
		wg.Go(func() { got[i] = testkit.Must(keys.PublicKey()) })
	}
	wg.Wait()
	for _, key := range got {
		testkit.Equal(t, got[0], key)
	}
	for _, name := range []string{"", "private.pem"} {
		if mode := testkit.Must(os.Stat(filepath.Join(keys.Dir(), name))).Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%q has mode %o", name, mode)
		}
	}
	testkit.Equal(t, 1, len(testkit.Must(os.ReadDir(keys.Dir()))))
}

func TestSignAndVerify(t *testing.T) {
	keys := userKeys(t)
	text := []byte("approve")
	public, signature, err := keys.Sign(text)
	testkit.OK(t, err)
	testkit.Equal(t, signing.Key{Public: public}, testkit.Must(keys.Verify(text, public, signature)))
	for name, forged := range map[string]error{
		"text":      testkit.Error(keys.Verify([]byte("reject"), public, signature)),
		"signature": testkit.Error(keys.Verify(text, public, signature[1:]+"A")),
		"key":       testkit.Error(keys.Verify(text, public+"A", signature)),
		"nothing":   testkit.Error(keys.Verify(text, "", "")),
	} {
		if !errors.Is(forged, signing.ErrInvalid) {
			t.Errorf("%s: %v", name, forged)
		}
	}

	other := userKeys(t) // without a key pair
	if err := testkit.Error(other.Verify(text, public, signature)); !errors.Is(err, signing.ErrInvalid) {
		t.Errorf("an unknown key: %v", err)
	}
	testkit.OK(t, other.Trust(testkit.Must(signing.NewKey(public, "ann"))))
	testkit.Equal(t, signing.Key{Public: public, Name: "ann"}, testkit.Must(other.Verify(text, public, signature)))
}

func TestTrusted(t *testing.T) {
	ann, bob := testkit.Must(userKeys(t).PublicKey()), testkit.Must(userKeys(t).PublicKey())
	keys := userKeys(t)
	testkit.Equal(t, 0, len(testkit.Must(keys.Trusted())))
	testkit.OK(t, keys.Trust(testkit.Must(signing.NewKey(ann.Public, "ann"))))
	testkit.Fails(t, keys.Trust(testkit.Must(signing.NewKey(bob.Public, "ann"))), "another trusted key has the name ann")
	testkit.OK(t, keys.Trust(testkit.Must(signing.NewKey(bob.Public, "bob"))))
	testkit.OK(t, keys.Trust(testkit.Must(signing.NewKey(ann.Public, "laptop"))))
	testkit.Equal(t, []signing.Key{{Public: bob.Public, Name: "bob"}, {Public: ann.Public, Name: "laptop"}}, testkit.Must(keys.Trusted()))
	testkit.Equal(t, "bob", testkit.Must(keys.Remove(bob.Public)).Name)
	testkit.Fails(t, testkit.Error(keys.Remove("bob")), `you trust no key "bob"`)
	testkit.Equal(t, ann.Public, testkit.Must(keys.Remove("laptop")).Public)
	testkit.Equal(t, 0, len(testkit.Must(keys.Trusted())))
}

func TestNewKey(t *testing.T) {
	public := testkit.Must(userKeys(t).PublicKey()).Public
	if key := testkit.Must(signing.NewKey(public, "")); !strings.HasPrefix(key.Name, "key-") {
		t.Errorf("its name is %q", key.Name)
	}
	for name, tt := range map[string]struct{ public, name, want string }{
		"empty":      {"", "", `"" is not a public key`},
		"other kind": {"rsa:" + public[8:], "", "is not a public key"},
		"too short":  {public[:50], "", "is not a public key"},
		"padded":     {public + "=", "", "is not a public key"},
		"two lines":  {public[:20] + "\n" + public[20:], "", "is not a public key"},
		"bad name":   {public, "a b", `invalid name "a b" of a key`},
		"long name":  {public, strings.Repeat("a", 65), "invalid name"},
	} {
		t.Run(name, func(t *testing.T) { testkit.Fails(t, testkit.Error(signing.NewKey(tt.public, tt.name)), tt.want) })
	}
}

// Files that are damaged, or that others may read, are errors with a command that corrects them.
func TestDamagedFiles(t *testing.T) {
	write := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	tests := map[string]struct {
		damage     func(dir string) error
		want, hint string
	}{
		"directory":   {func(dir string) error { return os.Chmod(dir, 0o750) }, "other users may open", "chmod 700 DIR"},
		"private key": {func(dir string) error { return os.Chmod(filepath.Join(dir, "private.pem"), 0o644) }, "its mode is 0644, want 0600", "chmod 600 DIR/private.pem"},
		"no PEM":      {write("private.pem", "x"), "private.pem is damaged", "mv DIR/private.pem DIR/private.pem.damaged"},
		"no key":      {write("private.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), "private.pem is damaged", "mv DIR/private.pem"},
		"list":        {write("trusted", "ed25519:x ann\n"), "trusted: line 1 is not a public key and a name", "sed -i.old 1d DIR/trusted"},
		"no file": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "private.pem")), os.Mkdir(filepath.Join(dir, "private.pem"), 0o700))
		}, "read your keys", "set XDG_STATE_HOME"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			keys := userKeys(t)
			public, signature, err := keys.Sign(nil)
			testkit.OK(t, err)
			testkit.OK(t, keys.Trust(testkit.Must(signing.NewKey(public, "me"))))
			testkit.OK(t, tt.damage(keys.Dir()))
			if name == "list" { // needed for a key other than the user's own
				testkit.OK(t, os.Remove(filepath.Join(keys.Dir(), "private.pem")))
			}
			_, err = keys.Verify(nil, public, signature)
			testkit.Fails(t, err, tt.want)
			if hint := failure.From(err).Hint; errors.Is(err, signing.ErrInvalid) || !strings.Contains(hint, strings.ReplaceAll(tt.hint, "DIR", keys.Dir())) {
				t.Errorf("the hint is %q, want %q", hint, tt.hint)
			}
		})
	}
}

// Without a directory that can be written nothing is signed, and the error names the variable to set.
func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("XDG_STATE_HOME", file)
	_, _, err := signing.UserKeys().Sign(nil)
	testkit.Fails(t, err, "your keys")
	if hint := failure.From(err).Hint; !strings.Contains(hint, "set XDG_STATE_HOME") {
		t.Errorf("the hint is %q", hint)
	}
}
