package plugintest

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify"
)

// hostVariable makes the test's binary, started once more for the same test, a host that is to be killed.
const hostVariable = "AGENT_PIPELINES_VERIFY_HOST"

// Binary runs every row of `agent-pipelines plugins verify` on a plugin's binary, each as a subtest named
// after the row and its component. A row that is not applicable is logged with what to give, and is no
// failure; which rows may be so is for the caller to say by the cases. The binary's name has to be
// agent-plugin-<name>. Binary is called at most once in a test, before the test does anything that costs:
// the test is started again as a process of its own, in which Binary is a host.
func Binary(t *testing.T, path string, opts verify.Options) {
	t.Helper()
	if os.Getenv(hostVariable) != "" {
		if err := verify.ServeHost(context.Background(), os.Stdin, os.Stdout); err != nil {
			t.Fatal(err)
		}
		return
	}
	if opts.Host == nil {
		name := t.Name()
		opts.Host = func() *exec.Cmd { return again(name) }
	}
	report, err := verify.Run(t.Context(), verify.Target{Path: path}, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range report.Rows {
		name := row.ID
		if row.Component != "" {
			name += "/" + row.Component
		}
		t.Run(name, func(t *testing.T) {
			switch row.Result {
			case verify.Fail:
				t.Errorf("%s\nseen: %s\ndo: %s", row.Title, row.Seen, row.Do)
			case verify.NotApplicable:
				t.Logf("not applicable: %s; give: %s", row.Seen, row.Do)
			case verify.Pass:
				t.Log(row.Seen)
			}
		})
	}
}

// again is this binary for one test alone.
func again(test string) *exec.Cmd {
	var pattern []string
	for part := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(pattern, "/"), "-test.count=1")
	cmd.Env = append(os.Environ(), hostVariable+"=1")
	return cmd
}
