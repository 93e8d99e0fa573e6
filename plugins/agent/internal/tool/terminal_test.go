package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

type terminalData struct {
	ExitCode       int `json:"exit_code"`
	Stdout, Stderr string
	EndedBy        string `json:"ended_by"`
	Tries          []struct {
		ExitCode int `json:"exit_code"`
		Cause    string
	}
	Truncated *struct{ Lines, Chars int }
}

// TestTerminal: U173: a call returns the output and exit code of a command that has no shell, no input and no terminal.
func TestTerminal(t *testing.T) {
	b := newBench(t, func(_ *bench, o *tool.Options) {
		o.Environ = append(o.Environ, "SERVICE_TOKEN=hunter2-hunter2", "PLAIN=yes")
		o.AddedEnviron = map[string]string{"NPM_TOKEN": "given-given"}
	})
	b.program("git", `for a in "$@"; do echo "[$a]"; done; cat; pwd; echo "$PWD"; echo err >&2; exit 3`)
	b.program("go", `echo "${SERVICE_TOKEN-unset} ${PLAIN-unset} $GIT_TERMINAL_PROMPT $GIT_PAGER"; test -n "$NPM_TOKEN" && echo given; test -t 0 || echo no terminal`)
	if err := os.Mkdir(filepath.Join(b.root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	var got terminalData
	r := b.run("run_terminal", map[string]any{"command": `git log --grep 'a  b' --author "c;d"`, "dir": "sub"})
	r.decode(t, &got)
	dir := filepath.Join(b.root, "sub")
	if want := "[log]\n[--grep]\n[a  b]\n[--author]\n[c;d]\n" + dir + "\n" + dir + "\n"; got.Stdout != want || got.Stderr != "err\n" || got.ExitCode != 3 {
		t.Errorf("%+v, want stdout %q", got, want)
	}
	if r.Status != sdk.ToolError {
		t.Errorf("exit code 3 is %s", r.Status)
	}
	b.ok("run_command", map[string]any{"command": "go version"}, &got)
	if want := "unset yes 0 cat\ngiven\nno terminal\n"; got.Stdout != want {
		t.Errorf("environment %q, want %q", got.Stdout, want)
	}
	for _, c := range []struct{ command, dir, want string }{{"git status", "none", "there is no none"}, {"cargo build", "", "no program"}, {"git status", "file", "not a directory"}} {
		b.put("file", "")
		call := map[string]any{"command": c.command}
		if c.dir != "" {
			call["dir"] = c.dir
		}
		if r := b.run("run_terminal", call); r.Status != sdk.ToolError || !strings.Contains(r.message, c.want) {
			t.Errorf("%+v: %s", c, r.Data)
		}
	}
}

// TestTerminalTimeout: U173, U180: a command that exceeds its time is ended with its descendants. Its output until then is
// kept, without secrets.
func TestTerminalTimeout(t *testing.T) {
	b := newBench(t, func(_ *bench, o *tool.Options) { o.Timeout, o.Grace = time.Second, 200*time.Millisecond })
	pids := filepath.Join(b.out, "pids")
	// The program starts a child and a grandchild that ignore SIGTERM.
	b.program("make", `trap '' TERM; (trap '' TERM; echo $$ >> `+pids+`; sh -c 'echo $$ >> `+pids+`; exec sleep 600') & echo partial; echo detail >&2; wait`)
	r := b.run("run_terminal", map[string]any{"command": "make all", "timeout": 3600})
	var got terminalData
	r.decode(t, &got)
	if r.Status != sdk.ToolTimeout || got.ExitCode != -1 || got.Stdout != "partial\n" || got.Stderr != "detail\n" || !strings.Contains(got.EndedBy, "1s") {
		t.Errorf("%s %s", r.Status, r.Data)
	}
	for _, pid := range strings.Fields(b.file(pids)) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("process %s is alive: %s", pid, stat)
		}
	}
}

// TestTerminalCanceled: a command ends with the attempt, and its output is kept.
func TestTerminalCanceled(t *testing.T) {
	b := newBench(t, nil)
	ready := filepath.Join(b.out, "ready")
	b.program("make", "echo begun; touch "+ready+"; exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		for ctx.Err() == nil {
			if _, err := os.Stat(ready); err == nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	r := b.runContext(ctx, "run_terminal", map[string]any{"command": "make"})
	var got terminalData
	r.decode(t, &got)
	if r.Status != sdk.ToolError || got.ExitCode != -1 || got.Stdout != "begun\n" || got.EndedBy == "" {
		t.Errorf("%s %s", r.Status, r.Data)
	}
}

// TestTerminalRetry: U178, K26: temporary failures are retried within the call, three times; the result lists the tries.
func TestTerminalRetry(t *testing.T) {
	fail := func(text string) string { return "echo x >> COUNT; echo '" + text + "' >&2; exit 1" }
	for _, c := range []struct {
		name, program, command, script string
		tries                          int
	}{
		{"passing, until it works", "git", "git fetch", `echo x >> COUNT; test $(wc -l < COUNT) -ge 3 && exit 0; echo "fatal: unable to access: Could not resolve host: x" >&2; exit 128`, 3},
		{"passing, and does not pass", "go", "go test ./...", fail("dial tcp: connection refused"), 4},
		{"a time-out, in the text of the seed", "go", "go test ./...", fail("Connection timeout (network blip)"), 4},
		{"a lock of git", "git", "git status", fail("fatal: Unable to create '.git/index.lock': File exists."), 4},
		{"no passing failure", "go", "go build ./...", fail("undefined: x"), 1},
		{"a program that must not run twice", "python", "python migrate.py", fail("connection refused"), 1},
		{"success that talks of failures", "go", "go test ./...", "echo x >> COUNT; echo connection refused", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var progress []string
			b := newBench(t, func(_ *bench, o *tool.Options) {
				o.Retry = []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
				o.Progress = func(message string) { progress = append(progress, message) }
			})
			count := filepath.Join(b.out, "count")
			b.program(c.program, strings.ReplaceAll(c.script, "COUNT", count))
			var got terminalData
			b.run("run_terminal", map[string]any{"command": c.command}).decode(t, &got)
			if n := strings.Count(b.file(count), "x"); n != c.tries {
				t.Errorf("ran %d times, want %d", n, c.tries)
			}
			if want := c.tries; want > 1 && len(got.Tries) != want || want == 1 && got.Tries != nil {
				t.Errorf("tries %+v", got.Tries)
			}
			if len(progress) != c.tries-1 || c.tries > 1 && (!strings.HasPrefix(progress[0], "Retry 1/3: ") || got.Tries[0].Cause == "") {
				t.Errorf("progress %q, %+v", progress, got.Tries)
			}
		})
	}
}

// TestTerminalIsCut: U183: long output loses its middle on both streams, within one budget.
func TestTerminalIsCut(t *testing.T) {
	b := newBench(t, func(_ *bench, o *tool.Options) { o.ResultTokens = 250 })
	b.program("make", `i=0; while [ $i -lt 20000 ]; do echo "out $i"; i=$((i+1)); done; i=0; while [ $i -lt 300 ]; do echo "err $i" >&2; i=$((i+1)); done`)
	var got terminalData
	r := b.ok("run_terminal", map[string]any{"command": "make"}, &got)
	if len(r.Data) > 1500 || !strings.HasPrefix(got.Stdout, "out 0\n") || !strings.HasSuffix(got.Stdout, "out 19999\n") || !strings.HasPrefix(got.Stderr, "err 0\n") || !strings.HasSuffix(got.Stderr, "err 299\n") {
		t.Errorf("%d bytes: %s", len(r.Data), r.Data)
	}
	shown := strings.Count(got.Stdout, "out ") + strings.Count(got.Stderr, "err ")
	if got.Truncated == nil || got.Truncated.Lines < 20300-shown-8 || got.Truncated.Lines > 20300-shown+8 {
		t.Errorf("%+v, %d lines are shown", got.Truncated, shown)
	}
}

// TestSecrets: U180: no result and no preview contains a secret, in any tool and field.
func TestSecrets(t *testing.T) {
	const value, key = "correct-horse-battery", "AKIAABCDEFGHIJKLMNOP"
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n-----END PRIVATE KEY-----"
	b := newBench(t, func(_ *bench, o *tool.Options) { o.Environ = append(o.Environ, "SERVICE_PASSWORD="+value) })
	b.program("git", "echo "+value+"; echo "+key+" >&2; exit 1")
	b.put("conf", "a "+value+"\nkeep me\nb "+key+"\n"+pem+"\nlast line\n")
	b.put(value+".txt", "x")
	secrets := []string{value, key, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"}
	clean := func(name, text string) {
		t.Helper()
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %s: %s", name, secret, text)
			}
		}
	}
	for i, call := range []struct {
		name string
		args map[string]any
	}{
		{"read_file", map[string]any{"path": "conf"}},
		{"read_file", map[string]any{"path": "conf", "offset": 5, "limit": 2}},
		{"read_file", map[string]any{"path": value}},
		{"search_code", map[string]any{"pattern": "."}},
		{"search_code", map[string]any{"pattern": "^[A-Z]"}},
		{"list_directory", map[string]any{}},
		{"run_terminal", map[string]any{"command": "git status"}},
		{"run_terminal", map[string]any{"command": "git " + value}},
		{"modify_file", map[string]any{"path": "conf", "edits": edits("keep me", "kept")}},
		{"modify_file", map[string]any{"path": "conf", "edits": edits(value+"x", "y")}},
		{"write_file", map[string]any{"path": "../" + value, "content": key}},
	} {
		p, refusal := b.set.Prepare(call.name, args(call.args), false)
		if refusal != nil {
			clean(strconv.Itoa(i)+" "+call.name, refusal.Message)
			continue
		}
		clean("preview of "+strconv.Itoa(i)+" "+call.name, p.Preview)
		clean(strconv.Itoa(i)+" "+call.name, string(p.Run(t.Context()).Data))
	}
	var got readData
	b.ok("read_file", map[string]any{"path": "conf"}, &got)
	if !strings.Contains(got.Content, "[REDACTED]\nkept\n") || !strings.HasSuffix(got.Content, "last line\n") {
		t.Errorf("more is gone than the secrets: %q", got.Content)
	}
	before := b.file("conf")
	for name, call := range map[string]map[string]any{
		"write_file": {"path": "conf", "content": strings.ReplaceAll(before, value, "[REDACTED]")}, "modify_file": {"path": "conf", "edits": edits("kept", "a [REDACTED]")},
	} {
		if r := b.run(name, call); r.Status != sdk.ToolError || !strings.Contains(r.message, "modify_file") || b.file("conf") != before {
			t.Errorf("%s with a mark: %s", name, r.Data)
		}
	}
	b.put("marked", "[REDACTED]\n")
	b.ok("write_file", map[string]any{"path": "marked", "content": "x [REDACTED]\n"}, nil)
}

// TestRealGit: U174: the real git runs no hook, file monitor or pager of the repository. It finds no repository above
// the workspace and does not use a directory that only looks like a repository.
func TestRealGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("this test needs git: ", err)
	}
	b := newBench(t, func(b *bench, o *tool.Options) {
		o.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.out}
		o.Allowed = []string{"git"}
	})
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = b.root, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.root, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	trap := "sh -c 'echo sprung >> " + b.canary + "'"
	git("init", "-q", "-b", "main")
	for _, setting := range [][2]string{{"core.fsmonitor", trap}, {"core.pager", trap}, {"core.editor", trap}, {"core.sshCommand", trap}, {"alias.st", "!" + trap}, {"sequence.editor", trap}, {"user.name", "a"}, {"user.email", "a@b"}} {
		git("config", setting[0], setting[1])
	}
	for _, hook := range []string{"pre-commit", "post-checkout", "post-commit", "prepare-commit-msg", "reference-transaction", "post-index-change"} {
		b.put(".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >> "+b.canary+"\n")
		if err := os.Chmod(filepath.Join(b.root, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.put("a.txt", "one\n")
	for _, line := range []string{"git status", "git add a.txt", "git commit -m 'first; commit'", "git checkout -b other", "git log", "git --no-pager diff", "git rebase main"} {
		b.ok("run_terminal", map[string]any{"command": line}, nil)
	}
	var got terminalData
	b.ok("run_terminal", map[string]any{"command": "git log --format=%s"}, &got)
	if got.Stdout != "first; commit\n" {
		t.Errorf("log %q", got.Stdout)
	}
	for _, line := range []string{"git mv -f a.txt .git/config", "git log --format=x --output=.git/config", "git commit --amend", "git fetch ssh://example.invalid/x", "git push ssh://example.invalid/x main", "git clone . copy"} {
		b.run("run_terminal", map[string]any{"command": line, "timeout": 20})
	}
	for name, content := range map[string]string{"fake/HEAD": "ref: refs/heads/main\n", "fake/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = \"" + strings.ReplaceAll(trap, `"`, `\"`) + "\"\n", "fake/objects/x": "", "fake/refs/x": ""} {
		b.ok("write_file", map[string]any{"path": name, "content": content}, nil)
	}
	if r := b.run("run_terminal", map[string]any{"command": "git status", "dir": "fake"}); r.Status != sdk.ToolError {
		t.Errorf("a directory that looks like a repository: %s", r.Data)
	}
	if got := b.file(b.canary); got != canaryText {
		t.Errorf("the canary holds %q", got)
	}
	if entries, _ := os.ReadDir(filepath.Join(b.root, "copy")); len(entries) > 0 {
		t.Errorf("cloned a path: %v", entries)
	}
	if err := os.Rename(filepath.Join(b.root, ".git"), filepath.Join(filepath.Dir(b.root), ".git")); err != nil {
		t.Fatal(err)
	}
	if r := b.run("run_terminal", map[string]any{"command": "git status"}); r.Status != sdk.ToolError || !strings.Contains(string(r.Data), "not a git repository") {
		t.Errorf("the repository above: %s", r.Data)
	}
}

// TestDefinitions: U166, K24: every tool has a description and an object schema for the model.
func TestDefinitions(t *testing.T) {
	b := newBench(t, func(_ *bench, o *tool.Options) { o.Allowed = []string{"go", "git"} })
	for _, d := range b.set.Definitions() {
		var schema struct {
			Type                 string
			AdditionalProperties *bool `json:"additionalProperties"`
			OneOf                any   `json:"oneOf"`
		}
		if err := json.Unmarshal(d.Parameters, &schema); err != nil || schema.Type != "object" || schema.AdditionalProperties == nil || schema.OneOf != nil || d.Description == "" {
			t.Errorf("%s: %s, %v", d.Name, d.Parameters, err)
		}
		if d.Name == "run_terminal" && !strings.HasSuffix(d.Description, "Allowed programs: go, git.") {
			t.Errorf("description %q", d.Description)
		}
	}
	if _, err := tool.NewSet(tool.Options{Root: filepath.Join(b.root, "none")}); err == nil {
		t.Error("a workspace that is not there")
	}
}
