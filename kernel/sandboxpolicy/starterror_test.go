package sandboxpolicy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
)

func TestStartErrorIsFoundAgain(t *testing.T) {
	want := confine.StartError{Text: "/p/x: text file busy", Exec: true, Errno: 26}
	got, found := sandboxpolicy.FindStartError("some line\n" + want.Line() + "another\n")
	if diff := cmp.Diff(want, got); diff != "" || !found {
		t.Errorf("found %t (-want +got):\n%s", found, diff)
	}
	for _, text := range []string{"", "hello\n", confine.StartErrorPrefix + "{", confine.StartErrorPrefix + "{}\n", "x " + confine.StartErrorPrefix + `{"text":"x"}`, "no bwrap: x"} {
		if got, found := sandboxpolicy.FindStartError(text); found {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func FuzzFindStartError(f *testing.F) {
	f.Add(confine.StartError{Text: "x", Exec: true, Errno: 2}.Line())
	f.Add("bwrap: setting up uid map: Permission denied\n")
	f.Add(confine.StartErrorPrefix + "[]")
	f.Fuzz(func(t *testing.T, stderr string) {
		got, found := sandboxpolicy.FindStartError(stderr)
		if found && got.Text == "" {
			t.Errorf("%q is a trouble without a text", stderr)
		}
		if found && (sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}).StartFailure(got).Hint == "" {
			t.Errorf("%q has no remedy", stderr)
		}
	})
}
