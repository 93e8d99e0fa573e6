package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
)

// FuzzAge reads any length of time on the command line: it is one from nothing to a hundred years, and the same when it
// is written as Go has it.
func FuzzAge(f *testing.F) {
	for _, seed := range []string{"30d", "2w", "36h", "1h30m", "-1h", "d", "", "1.5d", "99999d", "36501d", "5214w", "9223372036854775807ns", "1e3h"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a, again cli.Age
		if err := a.UnmarshalText([]byte(text)); err != nil {
			if !strings.Contains(err.Error(), "30d") || a != 0 {
				t.Errorf("%q is %d and %v", text, a, err)
			}
			return
		}
		if d := time.Duration(a); d < 0 || d > cli.MaxAge || again.UnmarshalText([]byte(d.String())) != nil || again != a {
			t.Errorf("%q is %s, then %s", text, d, time.Duration(again))
		}
	})
}

// FuzzListed reads any list of an environment variable: written as JSON it is the same list.
func FuzzListed(f *testing.F) {
	for _, seed := range []string{"", "a.md", "a.md\nb.md", `["a.md","b\nc.md"]`, "[", "[1]", " [] ", "[null]", "\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := run.Listed(text)
		if err != nil {
			if cli.ExitOf(err) == 0 || list != nil {
				t.Errorf("%q is %q and %v", text, list, err)
			}
			return
		}
		if !utf8.ValidString(text) {
			return // which JSON cannot say
		}
		written, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		again, err := run.Listed(string(written))
		if diff := cmp.Diff(list, again, cmpopts.EquateEmpty()); err != nil || list != nil && diff != "" {
			t.Errorf("%q is %q, then %q, %v", text, list, again, err)
		}
	})
}
