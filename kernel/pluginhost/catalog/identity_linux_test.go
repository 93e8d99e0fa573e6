package catalog

import (
	"os"
	"path/filepath"
	"testing"
)

// TestUnchangedFileIsReadOnce checks that one process reads an unchanged file for all. Each process reads a file that
// it compares with a lock.
func TestUnchangedFileIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "describe.json")
	open := func(c *Cache, locks ...Lock) string {
		t.Helper()
		b, err := NewVerifier(c, locks...).Read("/bin/sh")
		check(t, err)
		check(t, b.Close())
		return b.SHA256
	}
	locked := Lock{Plugins: map[string]map[string]string{"sh": {Platform(): "locked"}}}
	first := NewCache(path)
	content := open(first)

	forged := NewCache(path)
	forged.load()
	e := forged.digests["/bin/sh"]
	require(t, e == (cachedDigest{e.Identity, content, false}), e)
	e.SHA256 = sum("from the cache")
	forged.digests["/bin/sh"] = e
	forged.save()

	other := NewCache(path)
	compare(t, sum("from the cache"), open(other))
	compare(t, content, open(other, locked))
	compare(t, content, open(other))
	compare(t, content, open(NewCache(path)))

	// An entry that did not change is not written.
	check(t, os.Remove(path))
	again := &Cache{path: path, loaded: true, digests: map[string]cachedDigest{"/bin/sh": {e.Identity, content, false}}}
	compare(t, content, open(again, locked))
	_, err := os.Stat(path)
	require(t, os.IsNotExist(err), err)
}

func TestFreshFileIsNotRemembered(t *testing.T) {
	c := NewCache("")
	b := must(NewVerifier(c).Open(program(t, "agent-plugin-x", "one")))
	_ = b.Close()
	compare(t, 0, len(c.digests))
}
