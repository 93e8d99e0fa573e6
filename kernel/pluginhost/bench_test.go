package pluginhost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// testTimeout is far above the time of every operation here, so that only a hang exceeds it.
const testTimeout = 60 * time.Second

// newPluginDir makes a plugin directory in which one program has the given names.
func newPluginDir(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		check(t, os.Symlink(badplugin, filepath.Join(dir, "agent-plugin-"+n)))
	}
	return dir
}

// bench is a Host with its own environment. It is closed at the end of the test; no process of its run may then
// exist.
type bench struct {
	*Host
	t       testing.TB
	dir     string
	mu      sync.Mutex
	notices []Notice
}

func newBench(t testing.TB, change func(*Config), names ...string) *bench {
	t.Helper()
	return newSharingBench(t, nil, change, names...)
}

// newSharingBench returns a bench whose Host shares the parts of another Host, nil for none.
func newSharingBench(t testing.TB, shared *Host, change func(*Config), names ...string) *bench {
	t.Helper()
	b := &bench{t: t, dir: newPluginDir(t, names...)}
	cfg := Config{
		PluginDirs: []string{b.dir}, ConfigDir: t.TempDir(), CacheDir: disabledDir, Executable: disabledDir, WorkDir: t.TempDir(),
		RunMarker: fmt.Sprintf("%s-%d/", t.Name(), os.Getpid()),
		Environ:   []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SECRET_KEY=s3cret", "PLUGIN_MIN_PORT=9"},
		Client:    []client.Option{client.IdleLimit(10 * time.Second), client.CancelSlack(200 * time.Millisecond)},
		Notify: func(n Notice) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.notices = append(b.notices, n)
		},
	}
	if change != nil {
		change(&cfg)
	}
	h := must(New(cfg, shared))
	b.Host = h
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
		if left := running(h.marker.String()); len(left) > 0 {
			t.Errorf("processes of the run are left: %v", left)
		}
	})
	return b
}

func (b *bench) ctx() context.Context {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bench) provider(name string, use Use) sdk.Provider {
	b.t.Helper()
	p, err := b.Provider(b.ctx(), name, use)
	if err != nil {
		b.t.Fatalf("Provider(%s): %v", name, err)
	}
	return p
}

// execute makes one attempt.
func (b *bench) execute(ctx context.Context, p sdk.Provider, prompt string) (string, error) {
	return attempt(ctx, p, prompt, quietExchange{})
}

func attempt(ctx context.Context, p sdk.Provider, prompt string, x sdk.Exchange) (string, error) {
	r, err := p.Execute(ctx, sdk.ExecuteRequest{Key: "k", Prompt: prompt, Grace: 200 * time.Millisecond}, x)
	return r.Output, err
}

// output returns the output of a successful attempt.
func (b *bench) output(p sdk.Provider, prompt string) string {
	b.t.Helper()
	out, err := b.execute(b.ctx(), p, prompt)
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", prompt, err, failure.From(err).Detail)
	}
	return out
}

func (b *bench) seen(e Event) []Notice {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []Notice
	for _, n := range b.notices {
		if n.Event == e {
			found = append(found, n)
		}
	}
	return found
}

// quietExchange is an exchange that discards everything.
type quietExchange struct{}

func (quietExchange) Output(sdk.OutputChunk)       {}
func (quietExchange) Progress(sdk.Progress)        {}
func (quietExchange) Observe(sdk.ToolCall)         {}
func (quietExchange) ObserveResult(sdk.ToolResult) {}
func (quietExchange) Result(sdk.ToolResult)        {}
func (quietExchange) Usage(sdk.Usage)              {}
func (quietExchange) Call(context.Context, sdk.ToolCall) (sdk.Verdict, error) {
	return sdk.Verdict{Action: sdk.VerdictRun}, nil
}
func (quietExchange) Checkpoint(context.Context, sdk.Checkpoint) error { return nil }

// alarm signals the attempt's first progress.
type alarm struct {
	quietExchange
	once sync.Once
	rung chan struct{}
}

func newAlarm() *alarm { return &alarm{rung: make(chan struct{})} }

func (a *alarm) Progress(sdk.Progress) { a.once.Do(func() { close(a.rung) }) }

func (a *alarm) wait(t testing.TB) {
	t.Helper()
	select {
	case <-a.rung:
	case <-time.After(testTimeout):
		t.Fatal("the attempt reports nothing")
	}
}

// eventually waits until a condition holds that depends on other processes.
func eventually(t testing.TB, condition string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("never: %s", condition)
}

func contains(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		require(t, strings.Contains(text, p), text, p)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
