package attempt

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

const token = "ghp_0123456789012345678901234567890123456789"

// D8: files that tools wrote or the result names are scanned, inside the project only, and not changed. Failed
// attempts are scanned, too, and a run reports each secret once.
func TestFilesThatAgentsWroteAreScanned(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	testkit.OK(t, os.WriteFile(outside, []byte(token), 0o600))
	b := newFixture(t, nil)
	b.maker.Redactor = redact.New([]string{"A_SECRET=xyzzy plugh"})
	files := map[string]string{
		"a.go": "x\n" + token + " xyzzy plugh\n", "b.go": "password = hunter2hunter2", "named.md": token + "\n" + token, "read.md": token,
		"big": strings.Repeat("x", 1<<20) + token,
	}
	for name, text := range files {
		testkit.OK(t, os.WriteFile(filepath.Join(b.root, name), []byte(text), 0o600))
	}
	testkit.OK(t, os.Symlink(outside, filepath.Join(b.root, "link")))
	b.maker.Providers = agent(func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		x.Observe(sdk.ToolCall{CallID: "1", Tool: "write", Category: sdk.CategoryFileWrite, Paths: []string{"a.go", "./b.go", "link", "../outside", "big"}})
		_, err := x.Call(ctx, sdk.ToolCall{CallID: "2", Tool: "write", Category: sdk.CategoryFileWrite, Paths: []string{"gone.go", "a.go"}})
		x.Observe(sdk.ToolCall{CallID: "3", Tool: "read", Category: sdk.CategoryFileRead, Paths: []string{"read.md"}})
		if err == nil {
			err = os.WriteFile(req.Paths.Result, []byte(`{"summary":3,"work":{"files_touched":["`+filepath.Join(b.root, "named.md")+`","`+outside+`",7]}}`), 0o600)
		}
		return sdk.ExecuteResult{}, err
	})
	want := []event.SecretFoundData{
		{Path: "a.go", Line: 2, Rule: "github-token", Count: 1},
		{Path: "a.go", Line: 2, Rule: "variable A_SECRET", Count: 1},
		{Path: "named.md", Line: 1, Rule: "github-token", Count: 2},
	}
	b.failure(b.run(t.Context(), 1, 1))
	testkit.Equal(t, want, recorded[event.SecretFoundData](b, event.SecretFound))
	b.run(t.Context(), 1, 2)
	testkit.Equal(t, len(want), len(recorded[event.SecretFoundData](b, event.SecretFound)))
	for name, text := range files {
		if now, err := os.ReadFile(filepath.Join(b.root, name)); err != nil || string(now) != text {
			t.Errorf("%s was changed: %v", name, err)
		}
	}
}

// U180: chunks of text are redacted across their borders, in views and in the files of the streams.
func TestChunksAreRedacted(t *testing.T) {
	b := newFixture(t, nil)
	b.maker.Redactor = redact.New([]string{"A_SECRET=xyzzy plugh"})
	var live strings.Builder
	b.maker.Live = func(r exchange.Report) { live.WriteString(r.Text + r.Progress.Message) }
	b.maker.Providers = agent(func(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		for _, s := range []sdk.Stream{sdk.StreamText, sdk.StreamRaw, sdk.StreamStderr} {
			for _, piece := range []string{"a ghp_0123456789012345", token[20:] + " b xyzzy", " plugh c password: hunter2 end"} {
				x.Output(sdk.OutputChunk{Stream: s, Text: piece})
			}
		}
		return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"s"}`), 0o600)
	})
	b.run(t.Context(), 1, 1)
	const want = "a [REDACTED] b [REDACTED] c password: hunter2 end"
	for name, got := range map[string]string{
		"live": live.String(), "output.md": strings.TrimSpace(b.read("iterations/001/output.md")),
		"stream.jsonl": b.read("iterations/001/attempts/01/stream.jsonl"), "stderr.txt": b.read("iterations/001/attempts/01/stderr.txt"),
	} {
		if got != want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
