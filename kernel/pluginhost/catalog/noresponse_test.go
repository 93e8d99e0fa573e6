package catalog

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A plugin that does not answer is asked once in half a minute, across commands, unless its file changes. One
// that fails at once is asked each time.
func TestSilentPluginIsNotWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, Prefix+"mute")
		write := func(content string) {
			check(t, os.WriteFile(file, []byte(content), 0o700))
		}
		asked, kind := 0, failure.ProviderTimeout
		ask := func() *failure.Error {
			c := New(Config{
				Verifier: NewVerifier(), Cache: NewCache(filepath.Join(dir, "cache", "describe.json")),
				Describe: func(context.Context, *Binary) (sdk.Description, error) {
					asked++
					return sdk.Description{}, failure.New(kind, "plugin %s says nothing", file)
				},
				Search: SearchResult{Plugins: []Plugin{{Name: "mute", Path: file}}},
			})
			plugins := must(c.Plugins(t.Context()))
			return plugins[0].Fault
		}
		check := func(when string, want int) {
			t.Helper()
			f := ask()
			if f.Kind != kind || !strings.Contains(f.Message, "says nothing") || asked != want {
				t.Errorf("%s: failure %+v after %d questions, want %d", when, f, asked, want)
			}
		}
		write("one")
		check("first", 1)
		check("soon after", 1)
		if f := ask(); !strings.Contains(f.Hint, "not asked again before") {
			t.Errorf("the hint is %q", f.Hint)
		}
		write("another")
		check("after a change of the file", 2)
		time.Sleep(noResponseTime)
		check("half a minute later", 3)
		kind = failure.PluginInvalid
		write("a third")
		check("broken", 4)
		check("still broken", 5)
	})
}
