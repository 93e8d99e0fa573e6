package mock

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

// envCrash makes the test binary end like a plugin process, for TestEndProcess.
const envCrash = "MOCK_TEST_CRASH"

func TestMain(m *testing.M) {
	if how := os.Getenv(envCrash); how != "" {
		endProcess(how, 7)
	}
	goleak.VerifyTestMain(m)
}

// received is the record of an attempt as a kernel receives it.
type received struct {
	Text        string
	Raw         string
	Stderr      string
	Progress    []sdk.Progress
	Observed    []sdk.ToolCall
	Requested   []sdk.ToolCall
	Results     []sdk.ToolResult
	Usage       []sdk.Usage
	Checkpoints []sdk.Checkpoint
}

// processEnd is one end of a process.
type processEnd struct {
	How  string
	Code int
}

// fixture is a provider in a directory, with its own environment. It records each end of the process instead of ending
// the process.
type fixture struct {
	exchange plugintest.Exchange
	received received // from all attempts so far
	provider *Provider
	dir      string
	env      map[string]string
	ends     []processEnd
	log      strings.Builder
	req      sdk.ExecuteRequest
}

func newFixture(t *testing.T, config string) *fixture {
	t.Helper()
	tr := &fixture{dir: t.TempDir(), env: map[string]string{}}
	tr.provider = &Provider{process: process{
		getenv: func(name string) string { return tr.env[name] },
		stderr: &tr.log,
		end:    func(how string, code int) { tr.ends = append(tr.ends, processEnd{how, code}) },
	}}
	tr.req = sdk.ExecuteRequest{
		Key: "attempt:0/v1/r1//i1#1", Epoch: 1, Session: "demo", Node: "plan", Stage: "planner",
		Iteration: 1, Attempt: 1, Visit: 1, Purpose: sdk.PurposeWork, Prompt: "make a plan", Model: "small",
		Config: []byte(config), WorkDir: tr.dir,
		Paths: sdk.Paths{
			Result: filepath.Join(tr.dir, "result.json"), Status: filepath.Join(tr.dir, "status.json"),
			Progress: filepath.Join(tr.dir, "progress.md"),
		},
	}
	return tr
}

func (tr *fixture) execute(ctx context.Context) (sdk.ExecuteResult, error) {
	result, err := tr.provider.Execute(ctx, tr.req, &tr.exchange)
	r := tr.exchange.Record()
	tr.received = received{
		Text: r.Text(sdk.StreamText), Raw: r.Text(sdk.StreamRaw), Stderr: r.Text(sdk.StreamStderr), Progress: r.Progress, Observed: r.Observed,
		Requested: r.Calls, Results: slices.Concat(r.ObservedResults, r.Results), Usage: r.Usage, Checkpoints: r.Checkpoints,
	}
	return result, err
}

// file returns the content of a file in the work directory, "" if there is none.
func (tr *fixture) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tr.dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// write writes a file in the work directory and creates its directory.
func (tr *fixture) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(tr.dir, name)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(text), 0o644))
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
