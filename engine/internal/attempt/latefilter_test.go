package attempt

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// U048, U056: deliveries of an abandoned attempt do not count, and none is accepted after its provider returned. The
// attempt's usage is charged.
func TestLateDeliveries(t *testing.T) {
	stop := failure.New(failure.IterationTimeout, "enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var kept sdk.Exchange
	used := int64(7)
	b := newFixture(t, func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
		kept = x
		x.Output(sdk.OutputChunk{Text: "in time\n"})
		cancel(stop)
		<-ctx.Done()
		x.Output(sdk.OutputChunk{Text: "late\n"})
		x.Observe(sdk.ToolCall{CallID: "1", Tool: "peek"})
		x.ObserveResult(sdk.ToolResult{CallID: "1", Status: sdk.ToolSuccess})
		v, err := x.Call(ctx, sdk.ToolCall{CallID: "2", Tool: "pay"})
		if err != nil || v.Action != sdk.VerdictDeny || v.CallID != "2" {
			t.Errorf("verdict %+v, %v", v, err)
		}
		x.Usage(sdk.Usage{InputTokens: &used})
		return sdk.ExecuteResult{Outcome: sdk.OutcomeSucceeded}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"late"}`), 0o644)
	})
	e := b.run(ctx, 1, 1)
	if d := b.failure(e); d.ErrorType != string(failure.IterationTimeout) || d.Usage == nil || *d.Usage.InputTokens != used {
		t.Errorf("failure %+v", d)
	}
	why := string(failure.IterationTimeout)
	want := []event.LateDeliveryData{
		{Kind: event.LateOutput, Attempt: 1, AbandonReason: why, Count: 1, Bytes: 5},
		{Kind: event.LateToolCall, Attempt: 1, AbandonReason: why, Count: 2, Tools: []string{"peek", "pay"}},
		{Kind: event.LateResult, Attempt: 1, AbandonReason: why, Count: 1},
	}
	testkit.Equal(t, want, recorded[event.LateDeliveryData](b, event.LateDelivery))
	for _, e := range b.records.events {
		if e.Type == event.ToolCall || e.Type == event.ToolResult {
			t.Errorf("journaled: %s %s", e.Type, e.Data)
		}
	}

	kept.Output(sdk.OutputChunk{Text: "after the end"})
	kept.Progress(sdk.Progress{Message: "after the end"})
	kept.Result(sdk.ToolResult{CallID: "2"})
	if err := kept.Checkpoint(t.Context(), sdk.Checkpoint{Blob: []byte("x")}); err == nil {
		t.Error("a checkpoint was saved after the end")
	}
	want = append(want, event.LateDeliveryData{Kind: event.LateOutput, Attempt: 1, AbandonReason: why, Count: 1, Bytes: 13})
	testkit.Equal(t, want, recorded[event.LateDeliveryData](b, event.LateDelivery))
	testkit.Equal(t, "in time\nlate\n", b.read("iterations/001/attempts/01/output.md"))
}

// U048, U069: files that an abandoned attempt writes do not count for another attempt. They are archived during a
// later attempt, and the later attempt's published files are restored.
func TestLateFiles(t *testing.T) {
	var first string
	b := newFixture(t, func(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
		if req.Attempt == 1 {
			first = req.Paths.Result
			return sdk.ExecuteResult{}, failure.New(failure.ProviderFailed, "busy")
		}
		if req.Paths.Result == first {
			t.Error("both attempts have one path")
		}
		return sdk.ExecuteResult{}, writeAll(map[string]string{first: `{"summary":"late"}`, req.Paths.Result: `{"summary":"mine"}`})
	})
	b.failure(b.run(t.Context(), 1, 1))
	e := b.run(t.Context(), 1, 2)
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil || d.Summary != "mine" || d.Result.Path != "stage-00-build/iterations/001/result.json" {
		t.Fatalf("%s %s", e.Type, e.Data)
	}
	testkit.Equal(t, `{"summary":"late"}`, b.read("iterations/001/attempts/02/late-result.json"))
	accepted := b.read("iterations/001/result.json")
	testkit.OK(t, writeAll(map[string]string{first: `{"summary":"later still"}`}))
	for range 2 { // a second call changes nothing
		b.maker.Restore(t.Context(), b.records.record)
	}
	testkit.Equal(t, accepted, b.read("iterations/001/result.json"))
	if _, err := b.maker.Dir.ReadRef(d.Result); err != nil {
		t.Error(err)
	}
	var got []string
	for _, d := range recorded[event.LateDeliveryData](b, event.LateDelivery) {
		got = append(got, d.Kind+" "+d.Path)
	}
	path := "stage-00-build/iterations/001/result.json"
	testkit.Equal(t, []string{"file " + path, "file " + path}, got)
}

// U047: files that an earlier kernel's attempt wrote before the session was opened are archived; later files are
// recorded as well. While that kernel may still run, the agent gets private paths.
func TestFilesOfAnEarlierKernel(t *testing.T) {
	for _, tt := range []struct {
		name      string
		written   time.Duration // after the session was opened
		contested bool
		late      int
	}{{"before", -time.Hour, false, 0}, {"later", time.Hour, false, 1}, {"still at work", -time.Hour, true, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			var path string
			b := newFixture(t, func(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
				path = req.Paths.Result
				return sdk.ExecuteResult{}, writeAll(map[string]string{path: `{"summary":"mine"}`})
			})
			b.maker.OpenedAt, b.maker.PossiblyFenced = time.Now(), tt.contested
			it := filepath.Join(b.root, ".claude/pipeline-runs/demo/stage-00-build/iterations/001")
			testkit.OK(t, os.MkdirAll(it, 0o755))
			if err := writeAll(map[string]string{
				it + "/context.json": "{}", it + "/attempts.jsonl": `{"attempt":1,"epoch":1,"status":"running"}` + "\n", it + "/result.json": `{"summary":"theirs"}`,
			}); err != nil {
				t.Fatal(err)
			}
			at := b.maker.OpenedAt.Add(tt.written)
			testkit.OK(t, os.Chtimes(it+"/result.json", at, at))
			d, err := event.Decode[event.IterationCompleteData](b.run(t.Context(), 1, 1))
			if err != nil || d.Summary != "mine" {
				t.Errorf("%+v, %v", d, err)
			}
			if got := b.read("iterations/001/attempts/01/superseded-result.json"); got != `{"summary":"theirs"}` {
				t.Errorf("put aside %q", got)
			}
			if len(recorded[event.LateDeliveryData](b, event.LateDelivery)) != tt.late {
				t.Errorf("late deliveries %+v, want %d", recorded[event.LateDeliveryData](b, event.LateDelivery), tt.late)
			}
			if separate := path != it+"/result.json"; separate != tt.contested {
				t.Errorf("the agent got %s", path)
			}
		})
	}
}

func writeAll(files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
