package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// benchIterations are those of one run, enough that its start and end weigh little.
const benchIterations = 50

// instant is an agent that does the least that an agent does: it writes its result.
type instant struct{}

func (instant) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "instant", Provider: &sdk.ProviderTraits{}}
}

func (instant) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"done"}`), 0o600)
}

// BenchmarkIteration shows what the engine adds to an agent's own time (REQUIREMENTS U109): an
// iteration in an agent of this process, without and with the engine, and in a plugin process. The
// metric x-agent is how often the time of the agent alone goes into an iteration; most of it is the
// disk, which is waited for before anybody acts on an event.
func BenchmarkIteration(b *testing.B) {
	var alone time.Duration
	b.Run("agent-alone", func(b *testing.B) {
		req := sdk.ExecuteRequest{Paths: sdk.Paths{Result: filepath.Join(b.TempDir(), "result.json")}}
		for b.Loop() {
			if _, err := (instant{}).Execute(b.Context(), req, nil); err != nil {
				b.Fatal(err)
			}
		}
		alone = b.Elapsed() / time.Duration(b.N)
	})
	for _, provider := range []string{"instant", "mock"} {
		name := map[string]string{"instant": "same-process", "mock": "plugin-process"}[provider]
		b.Run(name, func(b *testing.B) {
			e := benchEngine(b, provider)
			n := 0
			for b.Loop() {
				n++
				result, err := e.Run(b.Context(), kernel.RunOptions{Pipeline: "bench", Session: fmt.Sprintf("s%d", n)})
				if err != nil || !result.Success {
					b.Fatalf("run: %+v, %v", result, err)
				}
			}
			each := b.Elapsed() / time.Duration(b.N*benchIterations)
			b.ReportMetric(float64(each.Microseconds())/1000, "ms/iteration")
			if alone > 0 {
				b.ReportMetric(float64(each)/float64(alone), "x-agent")
			}
		})
	}
}

// benchEngine works on a project with one pipeline of one stage.
func benchEngine(b *testing.B, provider string) *kernel.Engine {
	b.Helper()
	root := b.TempDir()
	text := fmt.Sprintf("name: bench\nnodes:\n  - {id: a, prompt: go, provider: %s, runs: %d}\n", provider, benchIterations)
	dir := filepath.Join(root, ".claude/pipelines")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.yaml"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	e, err := kernel.NewEngine(kernel.WithWorkDir(root), kernel.WithPluginDirs(filepath.Join(programs, "bin/plugins")),
		kernel.WithConfigDir(b.TempDir()), kernel.WithCacheDir(b.TempDir()), kernel.WithExecutable("-"),
		kernel.WithStandIn(provider), kernel.WithProvider(instant{}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return e
}
