package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

func TestParseSpec(t *testing.T) {
	whole := spec{
		Exec: "/proc/self/fd/3", Network: sandboxpolicy.Off, Landlock: 7, Files: true, Read: []string{"/usr"}, Write: []string{"/w <&>"}, Devices: []string{"/dev/null"},
		Seccomp: true, Processes: 5, Added: true, Memory: 6, CPU: 7,
	}
	got, err := parseSpec(whole.String())
	if diff := cmp.Diff(whole, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	for text, want := range map[string]string{
		``:                               "EOF",
		`null`:                           `network "" is not known`,
		`[]`:                             "cannot unmarshal",
		`{"network":"on"} {}`:            "unexpected text",
		`{"network":"on","new":1}`:       "unknown field",
		`{"network":"some"}`:             `network "some"`,
		`{"network":"on","landlock":-1}`: "ABI -1",
		`{"network":"on","landlock":99}`: "ABI 99",
		`{"network":"on","files":true}`:  "without landlock",
		`{"network":"on","memory":-1}`:   "negative",
		`{"network":"on","read":["a"]}`:  `"a" is not absolute`,
	} {
		t.Run(text, func(t *testing.T) {
			testkit.Fails(t, testkit.Error(parseSpec(text)), want)
		})
	}
}

// A parsed specification is complete: written and parsed again it is equal.
func FuzzParseSpec(f *testing.F) {
	f.Add(`{"network":"off","landlock":7,"files":true,"read":["/usr"],"seccomp":true}`)
	f.Add(`{"exec":"/bin/sh","network":"loopback","processes":3,"beside":true,"memory":1,"cpu":2}`)
	f.Add(`{"network":"on"}x`)
	f.Fuzz(func(t *testing.T, text string) {
		o, err := parseSpec(text)
		if err != nil {
			return
		}
		again, err := parseSpec(o.String())
		if err != nil || again.String() != o.String() {
			t.Errorf("%s becomes %s (%v)", o, again, err)
		}
	})
}

func TestStartErrorIsFoundAgain(t *testing.T) {
	want := sandboxpolicy.StartError{Text: "/p/x: text file busy", Exec: true, Errno: 26}
	got, found := sandboxpolicy.FindStartError("some line\n" + want.Line() + "another\n")
	if diff := cmp.Diff(want, got); diff != "" || !found {
		t.Errorf("found %t (-want +got):\n%s", found, diff)
	}
	for _, text := range []string{"", "hello\n", sandboxpolicy.StartErrorPrefix + "{", sandboxpolicy.StartErrorPrefix + "{}\n", "x " + sandboxpolicy.StartErrorPrefix + `{"text":"x"}`, "no bwrap: x"} {
		if got, found := sandboxpolicy.FindStartError(text); found {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func FuzzFindStartError(f *testing.F) {
	f.Add(sandboxpolicy.StartError{Text: "x", Exec: true, Errno: 2}.Line())
	f.Add("bwrap: setting up uid map: Permission denied\n")
	f.Add(sandboxpolicy.StartErrorPrefix + "[]")
	f.Fuzz(func(t *testing.T, stderr string) {
		got, found := sandboxpolicy.FindStartError(stderr)
		if found && got.Text == "" {
			t.Errorf("%q is a trouble without a text", stderr)
		}
		if found && got.Failure(sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}).Hint == "" {
			t.Errorf("%q has no remedy", stderr)
		}
	})
}
