package catalog

import "testing"

func TestUnchangedFileIsReadOnce(t *testing.T) {
	v := NewVerifier()
	first := must(v.Open("/bin/sh"))
	_ = first.Close()
	require(t, len(v.digests.known) == 1, len(v.digests.known))
	for id := range v.digests.known {
		v.digests.known[id].sum = "from memory"
	}
	second := must(v.Open("/bin/sh"))
	_ = second.Close()
	compare(t, "from memory", second.SHA256)
}

func TestFreshFileIsNotRemembered(t *testing.T) {
	v := NewVerifier()
	b := must(v.Open(program(t, "agent-plugin-x", "one")))
	_ = b.Close()
	compare(t, 0, len(v.digests.known))
}
