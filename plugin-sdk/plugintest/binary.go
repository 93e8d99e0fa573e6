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

// hostVariable is the environment variable that marks a second process of the test's binary as a host to kill.
const hostVariable = "AGENT_PIPELINES_VERIFY_HOST"

// Binary runs every row of `agent-pipelines plugins verify` on a plugin's binary, each as a subtest
// named after the row and its component. A row that is not applicable is logged and does not fail;
// the cases decide which rows are applicable.
//
// The binary's name must be agent-plugin-<name>. Call Binary at most once per test and before any
// costly work: the test is started again as a process that serves as the host.
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
		opts.Host = func() *exec.Cmd { return hostCommand(name) }
	}
	report, err := verify.Run(t.Context(), verify.Target{Path: path}, opts)
	if err != nil {
		t.Fatal(err)
	}
	subtests(t, report)
}

// hostCommand returns a command that runs only this test of the binary.
func hostCommand(test string) *exec.Cmd {
	var pattern []string
	for part := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(pattern, "/"), "-test.count=1")
	cmd.Env = append(os.Environ(), hostVariable+"=1")
	return cmd
}
