package confine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSpec(t *testing.T) {
	whole := Spec{
		Exec: "/proc/self/fd/3", Network: Off, Landlock: 7, Files: true, Read: []string{"/usr"}, Write: []string{"/w <&>"}, Devices: []string{"/dev/null"},
		Seccomp: true, NoUnix: true, Tools: true, OwnNetwork: true, User: &User{UID: 1, GID: 2}, Processes: 5, Added: true, Memory: 6, CPU: 7,
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

		`{"network":"on","mounts":[{"path":"a","read_only":true}]}`: `"a" is not absolute`,
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := parseSpec(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
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
