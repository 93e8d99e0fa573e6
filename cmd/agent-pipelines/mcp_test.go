package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/mcpserve"
)

const mcpPipeline = `name: review
defaults: {provider: mock}
hooks:
  stage_end:
    - {stage: plan, action: confirm, accept_feedback: true, message: "Is the plan good?"}
nodes:
  - id: plan
    prompt: "plan ${CONTEXT}"
    artifact: {type: plan, schema: {type: object, required: [steps]}}
  - {id: work, prompt: "work on it"}
`

const mcpSecret = "hunter2-hunter2-hunter2"

// mcpProject creates a project with a pipeline that asks the user, and with mock replies that contain a secret.
func mcpProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		".claude/pipelines/review.yaml": mcpPipeline,
		".claude/pipelines/broken.yaml": "name: broken\nnodes: [{id: a}]\n",
		"mock.json":                     `{"record": "requests.jsonl", "replies": [{"node": "plan", "artifact": {"steps": ["one"], "key": "` + mcpSecret + `"}}]}`,
		"slow.json":                     `{"replies": [{"delay_ms": 600000}]}`,
		"spec.yaml":                     "a: 1\n",
	} {
		file := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

// mcpClient is a client of the MCP SDK, connected to the real command.
type mcpClient struct {
	*testing.T
	*mcp.ClientSession
	process *os.Process
}

// mcpConnect starts a server for a project, and connects a client.
func mcpConnect(t *testing.T, project, mock string, options *mcp.ClientOptions, flags ...string) *mcpClient {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "bin", "agent-pipelines"), append([]string{"mcp", "serve"}, flags...)...)
	cmd.Dir, cmd.Stderr = project, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_STATE_HOME="+filepath.Join(programs, "state"), "MOCK_CONFIG="+filepath.Join(project, mock), "API_TOKEN="+mcpSecret, "USER=anna")
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, options)
	session := must(client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil))
	t.Cleanup(func() { _ = session.Close() })
	return &mcpClient{t, session, cmd.Process}
}

// ask calls a tool and returns its result, which must contain no secrets.
func (c *mcpClient) ask(tool string, arguments map[string]any) *mcp.CallToolResult {
	c.Helper()
	r, err := c.CallTool(c.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.Fatalf("%s: %v", tool, err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		c.Fatal(err)
	}
	if strings.Contains(string(text), mcpSecret) {
		c.Errorf("%s shows a secret: %s", tool, text)
	}
	return r
}

// do calls a tool that must succeed, and returns its result.
func (c *mcpClient) do(tool string, arguments map[string]any) map[string]any {
	c.Helper()
	r := c.ask(tool, arguments)
	if r.IsError {
		c.Fatalf("%s %v: %s", tool, arguments, resultText(r))
	}
	return r.StructuredContent.(map[string]any)
}

// refused calls a tool that must fail with an error_type and a text.
func (c *mcpClient) refused(tool string, arguments map[string]any, errorType string, words ...string) {
	c.Helper()
	r := c.ask(tool, arguments)
	text := resultText(r)
	if !r.IsError {
		c.Errorf("%s %v succeeds: %s", tool, arguments, text)
		return
	}
	fault, _ := r.Meta["agent-pipelines/error"].(map[string]any)
	if fault["error_type"] != errorType {
		c.Errorf("%s %v: error_type %v, want %s: %s", tool, arguments, fault["error_type"], errorType, text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			c.Errorf("%s %v: no %q in %s", tool, arguments, word, text)
		}
	}
}

func resultText(r *mcp.CallToolResult) string {
	var text strings.Builder
	for _, content := range r.Content {
		if t, ok := content.(*mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	return text.String()
}

// rests waits until no process runs a session, and returns the session's status.
func (c *mcpClient) rests(session string) map[string]any {
	c.Helper()
	for deadline := time.Now().Add(patience); ; {
		st := c.do("status", map[string]any{"session": session, "wait_seconds": 30})
		if st["held"] == false {
			return st
		}
		if time.Now().After(deadline) {
			c.Fatalf("waited in vain for %s: %v", session, st)
		}
	}
}

// question returns the open question of a session.
func (c *mcpClient) question(session string) map[string]any {
	c.Helper()
	all := c.do("questions", map[string]any{"session": session})["questions"].([]any)
	if len(all) != 1 {
		c.Fatalf("questions: %v", all)
	}
	return all[0].(map[string]any)
}

// A client can start a session, reject, approve and read its artifacts.
func TestMCPFromStartToArtifacts(t *testing.T) {
	t.Parallel()
	project := mcpProject(t)
	c := mcpConnect(t, project, "mock.json", nil, "--allow", "approve")

	d := c.do("list_pipelines", nil)["pipelines"].([]any)
	require(t, slices.ContainsFunc(d, func(p any) bool { return p.(map[string]any)["name"] == "review" }), d)
	r := c.do("lint", map[string]any{"pipelines": []string{"review"}})
	require(t, r["passed"] == true, r)
	run := map[string]any{"pipeline": "review", "session": "s", "request": "a login page"}
	preview, err := json.Marshal(c.do("dry_run", run))
	require(t, err == nil && strings.Contains(string(preview), "plan a login page"), string(preview), err)
	all := c.do("list_sessions", nil)["sessions"].([]any)
	require(t, len(all) == 0, all)

	r = c.do("start", run)
	require(t, r["session"] == "s", r)
	st := c.rests("s")
	require(t, st["status"] == "paused" && st["waiting"] != nil, st)
	q := c.question("s")
	require(t, q["text"] == "Is the plan good?", q)
	answer := map[string]any{"session": "s", "question": q["id"], "digest": q["digest"], "feedback": "name the risks"}
	r = c.do("reject", answer)
	require(t, r["resumed"] == true, r)
	c.rests("s")
	again := c.question("s")
	require(t, again["id"] != q["id"], again)
	requests, err := os.ReadFile(filepath.Join(project, "requests.jsonl"))
	require(t, err == nil && strings.Contains(string(requests), "Feedback of mcp:tester on the previous attempt"), string(requests), err)
	c.refused("approve", map[string]any{"session": "s", "question": again["id"], "digest": "0000"}, "no_question", "has changed since it was shown")
	c.do("approve", map[string]any{"session": "s", "question": again["id"], "digest": again["digest"]})
	st = c.rests("s")
	require(t, st["status"] == "completed", st)

	list := c.do("artifacts", map[string]any{"session": "s"})["artifacts"].([]any)
	var nodes []any
	for _, a := range list {
		nodes = append(nodes, a.(map[string]any)["node"])
	}
	require(t, slices.Contains(nodes, any("plan")), list)
	read := c.do("read_artifact", map[string]any{"session": "s", "node": "plan"})
	text, _ := read["text"].(string)
	require(t, strings.Contains(text, "steps:") && strings.Contains(text, "[REDACTED]"), read)
	w := c.do("why", map[string]any{"session": "s"})
	require(t, w["text"] != "", w)
	journal, err := os.ReadFile(filepath.Join(project, ".claude/pipeline-runs/s/events.jsonl"))
	require(t, err == nil && strings.Count(string(journal), `"by":"mcp:tester"`) >= 3, err, string(journal))
}

// The tool events returns a journal in pages that contain each event once.
func TestMCPEvents(t *testing.T) {
	t.Parallel()
	c := mcpConnect(t, mcpProject(t), "mock.json", nil)
	c.do("start", map[string]any{"pipeline": "review", "session": "s"})
	c.rests("s")
	var seen []float64
	after := 0.0
	for {
		r := c.do("events", map[string]any{"session": "s", "after": after, "limit": 3})
		for _, e := range r["events"].([]any) {
			seen = append(seen, e.(map[string]any)["seq"].(float64))
		}
		after = r["last"].(float64)
		if r["more"] != true {
			break
		}
	}
	var want []float64
	for i := range seen {
		want = append(want, float64(i+1))
	}
	compare(t, want, seen)
	require(t, len(seen) >= 4, seen)
	// No process runs the session: the call does not wait.
	r := c.do("events", map[string]any{"session": "s", "after": after, "wait_seconds": 300})
	require(t, len(r["events"].([]any)) == 0 && r["held"] == false, r)
}

// The server offers only the tools of its level.
func TestMCPLevels(t *testing.T) {
	t.Parallel()
	project := mcpProject(t)
	reading := []string{"artifacts", "dry_run", "events", "lint", "list_pipelines", "list_sessions", "questions", "read_artifact", "status", "why"}
	running := []string{"abort", "pause", "resume", "start"}
	answering := []string{"approve", "reject", "skip_call"}
	for _, test := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"--allow", "read"}, reading},
		{nil, slices.Concat(reading, running)},
		{[]string{"--allow", "approve"}, slices.Concat(reading, running, answering)},
	} {
		c := mcpConnect(t, project, "mock.json", nil, test.flags...)
		listed := must(c.ListTools(t.Context(), nil))
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
			if tool.InputSchema == nil || tool.OutputSchema == nil || tool.Annotations == nil || tool.Annotations.ReadOnlyHint != slices.Contains(reading, tool.Name) {
				t.Errorf("%s: %+v", tool.Name, tool)
			}
			destructive := *tool.Annotations.DestructiveHint
			require(t, destructive == slices.Contains([]string{"abort", "reject"}, tool.Name), tool.Name, destructive)
		}
		slices.Sort(test.want)
		slices.Sort(names)
		if diff := cmp.Diff(test.want, names); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.flags, diff)
		}
		if slices.Contains(names, "approve") {
			continue
		}
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "approve", Arguments: map[string]any{"session": "s"}})
		require(t, err != nil && strings.Contains(err.Error(), "unknown tool"), test.flags, err)
	}
}

// An agent of a session cannot answer questions to the user, whatever --allow says.
func TestMCPWithinASession(t *testing.T) {
	t.Setenv("AGENT_PIPELINES_RUN", "p/s")
	c := mcpConnect(t, mcpProject(t), "mock.json", nil, "--allow", "approve")
	listed := must(c.ListTools(t.Context(), nil))
	for _, tool := range listed.Tools {
		require(t, tool.Name != "approve", "approve is there")
	}
}

// A failed call returns an error_type and a text with the reason, and changes nothing.
func TestMCPRefusals(t *testing.T) {
	t.Parallel()
	project := mcpProject(t)
	check(t, os.Symlink(t.TempDir(), filepath.Join(project, "out")))
	c := mcpConnect(t, project, "mock.json", nil, "--allow", "approve")
	const bad = "bad_arguments"
	c.refused("status", map[string]any{"session": "nosuch"}, "no_session", "nosuch")
	c.refused("status", map[string]any{"session": "../x"}, bad)
	c.refused("status", map[string]any{"session": "s", "wait_seconds": 301}, bad, "0 to 300")
	c.refused("events", map[string]any{"session": "nosuch"}, "no_session")
	c.refused("events", map[string]any{"session": "s", "limit": 100_000}, bad, "1 to 200")
	c.refused("artifacts", map[string]any{"session": "nosuch"}, "no_session")
	c.refused("pause", map[string]any{"session": "nosuch"}, "no_session")
	c.refused("resume", map[string]any{"session": "nosuch"}, "nothing_to_resume")
	c.refused("start", map[string]any{}, bad, "either pipeline or stage")
	c.refused("start", map[string]any{"pipeline": "nosuch"}, "not_found", "nosuch")
	c.refused("start", map[string]any{"pipeline": "broken"}, "compile_error", "broken.yaml:2")
	c.refused("start", map[string]any{"pipeline": "--force"}, "not_found")
	c.refused("start", map[string]any{"pipeline": "review", "request": strings.Repeat("x", 1<<17)}, bad, "at most 65536")
	for _, path := range []string{"/etc/passwd", "../x", "out", "out/x", "nosuch"} {
		c.refused("start", map[string]any{"pipeline": "review", "inputs": []string{path}}, bad, "input '"+path+"'")
		c.refused("dry_run", map[string]any{"pipeline": "review", "artifacts": map[string]string{"plan": path}}, bad, "artifact '"+path+"'")
	}
	c.refused("dry_run", map[string]any{"pipeline": "review", "artifacts": map[string]string{"plan=../x": "mock.json"}}, bad, "has a =")
	c.refused("dry_run", map[string]any{"pipeline": "review", "assume": map[string]string{"a=b": "fail"}}, bad, "has a =")
	c.refused("start", map[string]any{"pipeline": "review", "inputs": []string{"*"}}, bad, "is a pattern")
	c.refused("start", map[string]any{"pipeline": "out"}, bad, "file 'out'")
	c.refused("lint", map[string]any{"pipelines": []string{"../broken.yaml"}}, bad, "outside of the project")
	c.refused("reject", map[string]any{"session": "s", "question": "q-00000000", "digest": "x"}, bad, "end_session")
	c.refused("approve", map[string]any{"session": "nosuch", "question": "q-00000000", "digest": "x"}, "no_session")
	for _, arguments := range []map[string]any{{"session": 7}, {"session": "s", "force": true}, {}} { // refused by schemas
		r := c.ask("status", arguments)
		require(t, r.IsError, arguments)
	}
	if entries, err := os.ReadDir(filepath.Join(project, ".claude", "pipeline-runs")); err == nil && len(entries) > 0 {
		t.Errorf("refused calls left %v", entries)
	}
}

// A session outlives the killed server that started it; a client of another server can read and end the session.
func TestMCPClientKilled(t *testing.T) {
	t.Parallel()
	project := mcpProject(t)
	first, second := mcpConnect(t, project, "slow.json", nil), mcpConnect(t, t.TempDir(), "slow.json", nil, "--root", project)
	first.do("start", map[string]any{"pipeline": "review", "session": "s"})
	check(t, first.process.Kill())
	st := second.do("status", map[string]any{"session": "s"})
	require(t, st["status"] == "running" && st["held"] == true, st)
	second.refused("start", map[string]any{"pipeline": "review", "session": "s"}, "lock_contention")
	second.do("abort", map[string]any{"session": "s", "reason": "enough"})
	st = second.rests("s")
	require(t, st["status"] == "aborted", st)
}

// A waiting client receives progress, and a call ends when its client cancels it.
func TestMCPProgress(t *testing.T) {
	t.Parallel()
	project := mcpProject(t)
	messages := make(chan string, 1000)
	c := mcpConnect(t, project, "slow.json", &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { messages <- r.Params.Message },
	})
	c.do("start", map[string]any{"pipeline": "review", "session": "s"})
	ctx, cancel := context.WithCancel(t.Context())
	waiting := &mcp.CallToolParams{Name: "status", Arguments: map[string]any{"session": "s", "wait_seconds": 300}}
	waiting.SetProgressToken("p")
	done := make(chan error)
	go func() {
		_, err := c.CallTool(ctx, waiting)
		done <- err
	}()
	first := <-messages
	require(t, first != "", "progress without words")
	cancel() // the server ends the call and answers other calls at once
	err := <-done
	require(t, err != nil, "a cancelled call succeeds")
	c.do("abort", map[string]any{"session": "s"})
	st := c.rests("s")
	require(t, st["status"] == "aborted", st)
}

// A signal ends the server cleanly, and its session continues.
func TestMCPSignal(t *testing.T) {
	t.Parallel()
	project := mcpProject(t)
	c := mcpConnect(t, project, "slow.json", nil)
	c.do("start", map[string]any{"pipeline": "review", "session": "s"})
	check(t, c.process.Signal(syscall.SIGINT))
	if err := c.Wait(); err != nil && !strings.Contains(err.Error(), "closed") {
		t.Errorf("wait: %v", err)
	}
	other := mcpConnect(t, project, "slow.json", nil)
	st := other.do("status", map[string]any{"session": "s"})
	require(t, st["status"] == "running", st)
	other.do("abort", map[string]any{"session": "s"})
	other.rests("s")
}

// The page docs/mcp.md lists every tool.
func TestMCPPage(t *testing.T) {
	page := must(os.ReadFile("../../docs/mcp.md"))
	c := mcpConnect(t, mcpProject(t), "mock.json", nil, "--allow", string(mcpserve.Approve))
	listed := must(c.ListTools(t.Context(), nil))
	for _, tool := range listed.Tools {
		require(t, strings.Contains(string(page), "| `"+tool.Name+"` |"), tool.Name)
	}
}
