package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a workspace with a canary file outside it, and programs outside it.
type bench struct {
	t      *testing.T
	root   string // the workspace
	out    string // a neighbour whose name has the same prefix
	canary string // a file that represents all files outside
	bin    string // on PATH, outside
	set    *tool.Set
}

const canaryText = "the canary sings: nothing was written here\n"

// newBench makes the workspace. change may modify the options.
func newBench(t *testing.T, change func(b *bench, o *tool.Options)) *bench {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: filepath.Join(base, "proj"), out: filepath.Join(base, "proj-evil"), bin: filepath.Join(base, "bin")}
	for _, dir := range []string{b.root, b.out, b.bin} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.canary = filepath.Join(b.out, "canary")
	b.put(b.canary, canaryText)
	o := tool.Options{Root: b.root, Environ: []string{"PATH=" + b.bin + ":/usr/bin:/bin", "HOME=" + base}}
	if change != nil {
		change(b, &o)
	}
	o.Redactor = redact.New(cliagent.Environ(o.Environ, o.AddedEnviron)).ForAgent()
	b.set, err = tool.NewSet(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.set.Close() })
	return b
}

// put writes a file at an absolute path or a path in the workspace.
func (b *bench) put(name, content string) {
	b.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(b.root, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// program writes a shell script to a directory on PATH.
func (b *bench) program(name, script string) {
	b.t.Helper()
	b.put(filepath.Join(b.bin, name), "#!/bin/sh\n"+script+"\n")
	if err := os.Chmod(filepath.Join(b.bin, name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) link(target, name string) {
	b.t.Helper()
	if err := os.Symlink(target, filepath.Join(b.root, name)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) file(name string) string {
	b.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(b.root, name)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(content)
}

// args encodes an object as JSON.
func args(v map[string]any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// callResult is the result of a call, with the code of a failure.
type callResult struct {
	tool.Result
	Code, message string
}

// run prepares and makes a call. A refusal becomes a result.
func (b *bench) run(name string, v map[string]any) callResult {
	b.t.Helper()
	return b.runContext(b.t.Context(), name, v)
}

func (b *bench) runContext(ctx context.Context, name string, v map[string]any) callResult {
	b.t.Helper()
	p, refusal := b.set.Prepare(name, args(v), false)
	if refusal != nil {
		return b.newCallResult(tool.Result{Status: refusal.Status, Data: refusal.Data()})
	}
	return b.newCallResult(p.Run(ctx))
}

func (b *bench) newCallResult(result tool.Result) callResult {
	b.t.Helper()
	r := callResult{Result: result}
	var data struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		b.t.Fatalf("%s: %v", r.Data, err)
	}
	r.Code, r.message = data.Error.Code, data.Error.Message
	return r
}

// prepare checks a call that must not be refused.
func (b *bench) prepare(name string, v map[string]any, again bool) tool.PreparedCall {
	b.t.Helper()
	p, refusal := b.set.Prepare(name, args(v), again)
	if refusal != nil {
		b.t.Fatalf("%s %v: %s", name, v, refusal.Message)
	}
	return p
}

// ok makes a call that must succeed and decodes its result.
func (b *bench) ok(name string, v map[string]any, into any) callResult {
	b.t.Helper()
	r := b.run(name, v)
	if r.Status != sdk.ToolSuccess {
		b.t.Fatalf("%s %v: %s %s", name, v, r.Status, r.Data)
	}
	r.decode(b.t, into)
	return r
}

func (r callResult) decode(t *testing.T, into any) {
	t.Helper()
	if into == nil {
		return
	}
	if err := json.Unmarshal(r.Data, into); err != nil {
		t.Fatalf("%s: %v", r.Data, err)
	}
}
