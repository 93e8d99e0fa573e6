package sdk_test

import (
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestCheckNeed(t *testing.T) {
	for path, want := range map[string]string{
		"/opt/x":        "",
		"~/.claude":     "",
		"${HOME}":       "",
		"${HOME}/a/b":   "",
		"~/":            "",
		"":              "want an absolute one",
		"a/b":           "want an absolute one",
		"~user/x":       "want an absolute one",
		"${}/x":         "want an absolute one",
		"${A}b":         "want an absolute one",
		"$HOME/x":       "want an absolute one",
		"/a/../b":       "without . or ..",
		"~/../root":     "without . or ..",
		"${HOME}/../x":  "without . or ..",
		"/a/./b":        "without . or ..",
		"/a\x00/b":      "without . or ..",
		"${HOME}/../..": "without . or ..",
	} {
		t.Run(path, func(t *testing.T) {
			err := sdk.CheckNeed(path)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestEmptyNeeds(t *testing.T) {
	var none *sdk.Needs
	if !none.IsEmpty() || !(&sdk.Needs{}).IsEmpty() || (&sdk.Needs{Read: []string{"/x"}}).IsEmpty() || (&sdk.Needs{Network: true}).IsEmpty() {
		t.Error("Nothing returns a wrong answer")
	}
}
