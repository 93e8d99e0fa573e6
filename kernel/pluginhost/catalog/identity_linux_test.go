package catalog

import "testing"

func TestUnchangedFileIsReadOnce(t *testing.T) {
	v := NewVerifier()
	first := must(v.Open("/bin/sh"))
	_ = first.Close()
	if len(v.digests.known) != 1 {
		t.Fatalf("%d digests are remembered, want 1", len(v.digests.known))
	}
	for id := range v.digests.known {
		v.digests.known[id].sum = "from memory"
	}
	second := must(v.Open("/bin/sh"))
	_ = second.Close()
	if second.SHA256 != "from memory" {
		t.Errorf("the file was read again")
	}
}

func TestFreshFileIsNotRemembered(t *testing.T) {
	v := NewVerifier()
	b := must(v.Open(program(t, "agent-plugin-x", "one")))
	_ = b.Close()
	if len(v.digests.known) != 0 {
		t.Error("a file that may still change within its time stamp is remembered")
	}
}
