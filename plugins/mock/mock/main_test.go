package mock

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// envCrash makes the test binary end as a plugin process would, for TestEndProcess.
const envCrash = "MOCK_TEST_CRASH"

func TestMain(m *testing.M) {
	if how := os.Getenv(envCrash); how != "" {
		endProcess(how, 7)
	}
	goleak.VerifyTestMain(m)
}

// heard is what a kernel hears of an attempt.
type heard struct {
	Text        string
	Raw         string
	Stderr      string
	Progress    []sdk.Progress
	Observed    []sdk.ToolCall
	Asked       []sdk.ToolCall
	Results     []sdk.ToolResult
	Usage       []sdk.Usage
	Checkpoints []sdk.Checkpoint
}

// exchange remembers what it hears and answers calls by verdict. It serves one attempt.
type exchange struct {
	heard   *heard
	verdict func(sdk.ToolCall) (sdk.Verdict, error)
}

func (x exchange) Output(c sdk.OutputChunk) {
	switch c.Stream {
	case sdk.StreamRaw:
		x.heard.Raw += c.Text
	case sdk.StreamStderr:
		x.heard.Stderr += c.Text
	default:
		x.heard.Text += c.Text
	}
}

func (x exchange) Progress(p sdk.Progress)        { x.heard.Progress = append(x.heard.Progress, p) }
func (x exchange) Observe(c sdk.ToolCall)         { x.heard.Observed = append(x.heard.Observed, c) }
func (x exchange) ObserveResult(r sdk.ToolResult) { x.heard.Results = append(x.heard.Results, r) }
func (x exchange) Result(r sdk.ToolResult)        { x.heard.Results = append(x.heard.Results, r) }
func (x exchange) Usage(u sdk.Usage)              { x.heard.Usage = append(x.heard.Usage, u) }

func (x exchange) Checkpoint(_ context.Context, c sdk.Checkpoint) error {
	x.heard.Checkpoints = append(x.heard.Checkpoints, c)
	return nil
}

func (x exchange) Call(_ context.Context, c sdk.ToolCall) (sdk.Verdict, error) {
	x.heard.Asked = append(x.heard.Asked, c)
	return x.verdict(c)
}

// ended is one way in which a process would have ended.
type ended struct {
	How  string
	Code int
}

// trial is a provider in a directory, with an environment of its own and no real process to end.
type trial struct {
	heard    heard
	verdict  func(sdk.ToolCall) (sdk.Verdict, error)
	provider *Provider
	dir      string
	env      map[string]string
	ends     []ended
	log      strings.Builder
	req      sdk.ExecuteRequest
}

func newTrial(t *testing.T, config string) *trial {
	t.Helper()
	tr := &trial{dir: t.TempDir(), env: map[string]string{}}
	tr.provider = &Provider{process: process{
		getenv: func(name string) string { return tr.env[name] },
		stderr: &tr.log,
		end:    func(how string, code int) { tr.ends = append(tr.ends, ended{how, code}) },
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

func (tr *trial) execute(ctx context.Context) (sdk.ExecuteResult, error) {
	return tr.provider.Execute(ctx, tr.req, exchange{heard: &tr.heard, verdict: tr.verdict})
}

// file reads a file of the work directory, "" if there is none.
func (tr *trial) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tr.dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// write puts a file into the work directory and makes its directory.
func (tr *trial) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(tr.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
