package pluginhost

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// The arguments with which the test program serves a plugin, or fails to.
const (
	serveWord  = "serve-bundled"
	forgetWord = "forget-to-serve"
)

// bundledPlugin is the plugin that the test program serves under any name.
func bundledPlugin(name string) sdk.Plugin {
	return sdk.Plugin{Name: name, Version: "1.0.0", Providers: []sdk.Provider{pidProvider{name}}}
}

// pidProvider answers with its process id.
type pidProvider struct{ name string }

func (t pidProvider) Describe() sdk.Component {
	return sdk.Component{Name: t.name, Aliases: []string{t.name + "-alias"}}
}

func (pidProvider) Execute(context.Context, sdk.ExecuteRequest, sdk.Exchange) (sdk.ExecuteResult, error) {
	return sdk.ExecuteResult{Output: fmt.Sprint(os.Getpid())}, nil
}

// serveBundled serves a bundled plugin if the test program was started for that.
func serveBundled() (code int, asked bool) {
	if len(os.Args) < 3 {
		return 0, false
	}
	switch os.Args[1] {
	case serveWord:
		return serve.Run(bundledPlugin(os.Args[2]), os.Args[3:]), true
	case forgetWord:
		_, err := New(Config{Bundled: []Bundled{{Name: os.Args[2], Args: os.Args[1:3]}}}, nil)
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, false
}

// bundledPlugins returns plugins that are described in this process; asked counts the descriptions.
func bundledPlugins(asked *atomic.Int32, names ...string) []Bundled {
	var list []Bundled
	for _, name := range names {
		list = append(list, Bundled{
			Name: name, Args: []string{serveWord, name},
			Describe: func() (sdk.Description, error) {
				asked.Add(1)
				return serve.Description(bundledPlugin(name))
			},
		})
	}
	return list
}

func TestBundledPluginsAreOtherProcesses(t *testing.T) {
	var asked atomic.Int32
	b := newBench(t, func(c *Config) { c.Bundled = bundledPlugins(&asked, "one", "two") })
	pids := map[string]string{}
	for _, name := range []string{"one", "two"} {
		pids[name] = b.output(b.provider(name, Use{}), "")
		got := b.output(b.provider(name+"-alias", Use{}), "")
		require(t, got == pids[name], name, pids[name], got)
	}
	own := fmt.Sprint(os.Getpid())
	require(t, pids["one"] != own && pids["two"] != own && pids["one"] != pids["two"], pids, own)
	program := must(os.Executable())
	var commands []string
	for _, n := range b.seen(Started) {
		commands = append(commands, n.Command)
	}
	compare(t, []string{program + " serve-bundled one", program + " serve-bundled two"}, commands)
	compare(t, 2, asked.Load())
	l, err := b.List(b.ctx())
	require(t, err == nil && len(l.Plugins) == 2 && l.Plugins[0].Source == catalog.FromBundle && l.Plugins[0].SHA256 != "", l.Plugins, err)
}

// Without a function Describe the program is started, and its description is cached by its arguments.
func TestBundledPluginsWithoutDescription(t *testing.T) {
	cache := t.TempDir()
	for range 2 {
		b := newBench(t, func(c *Config) {
			c.CacheDir = cache
			c.Bundled = []Bundled{{Name: "one", Args: []string{serveWord, "one"}}, {Name: "two", Args: []string{serveWord, "two"}}}
		})
		for _, name := range []string{"one", "two"} {
			compare(t, name, must(b.Component(b.ctx(), sdk.KindProvider, name+"-alias")).Name)
		}
	}
	text := must(os.ReadFile(filepath.Join(cache, "describe.json")))
	contains(t, string(text), "serve-bundled one\": {", "serve-bundled two\": {")
}

func TestFoundBinaryWinsOverBundled(t *testing.T) {
	var asked atomic.Int32
	b := newBench(t, func(c *Config) { c.Bundled = bundledPlugins(&asked, "good", "one") }, "good")
	l, err := b.List(b.ctx())
	require(t, err == nil && len(l.Plugins) == 2 && len(l.Ignored) == 1, l, err)
	got := l.Plugins[0]
	require(t, got.Name == "good" && got.Source == catalog.FromFlag, got.Plugin)
	contains(t, l.Ignored[0].Path, serveWord+" good")
	contains(t, l.Ignored[0].Reason, "shadowed by "+filepath.Join(b.dir, "agent-plugin-good"))
}

func TestBundledOff(t *testing.T) {
	var asked atomic.Int32
	b := newBench(t, func(c *Config) {
		c.Bundled, c.BundledOff = bundledPlugins(&asked, "one"), "--no-bundled"
	})
	_, err := b.Provider(b.ctx(), "one-alias", Use{})
	f := failure.From(err)
	require(t, f.Kind == failure.ProviderMissing, err)
	contains(t, f.Message, `unknown provider: one-alias (none exists)`)
	contains(t, f.Hint, "turned off by --no-bundled", "agent-plugin-one-alias", b.dir)
	_, err = b.Provider(b.ctx(), "other", Use{})
	require(t, !strings.Contains(failure.From(err).Hint, "turned off"), failure.From(err).Hint)
	l, err := b.List(b.ctx())
	require(t, err == nil && len(l.Ignored) == 1 && l.Ignored[0].Reason == "turned off by --no-bundled", l.Ignored, err)
}

// A lock of agent-plugin-one also refuses a bundled plugin with another digest.
func TestLockHoldsForBundled(t *testing.T) {
	var asked atomic.Int32
	b := newBench(t, func(c *Config) {
		c.Bundled = bundledPlugins(&asked, "one", "two")
		store := catalog.Store{Dir: c.ConfigDir}
		check(t, store.ChangeLock(store.LockPath(), func(l catalog.Lock) { l.Set("agent-plugin-one", catalog.Platform(), strings.Repeat("0", 64)) }))
	})
	if _, err := b.Provider(b.ctx(), "one", Use{}); failure.KindOf(err) != failure.PluginUntrusted {
		t.Errorf("error %v, want %s", err, failure.PluginUntrusted)
	}
	b.output(b.provider("two", Use{}), "")
}

func TestInvalidBundledLists(t *testing.T) {
	for says, list := range map[string][]Bundled{
		"a name has lower case letters": {{Name: "One", Args: []string{"x"}}},
		"has no arguments":              {{Name: "one"}},
		"is listed twice":               {{Name: "one", Args: []string{"x"}}, {Name: "one", Args: []string{"y"}}},
	} {
		_, err := New(Config{ConfigDir: t.TempDir(), CacheDir: disabledDir, Executable: disabledDir, Bundled: list}, nil)
		require(t, failure.KindOf(err) == failure.ConfigInvalid && failure.From(err).Hint != "", list, err)
		contains(t, err.Error(), says)
	}
}

// A program that does not check its arguments would start itself without end.
func TestProgramWithoutServe(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Bundled = []Bundled{{Name: "one", Args: []string{forgetWord, "one"}}} })
	_, err := b.Provider(b.ctx(), "one", Use{})
	require(t, failure.KindOf(err) == failure.ProviderCrashed, err)
	contains(t, failure.From(err).Detail, "was started to serve plugin one and hosts plugins instead")
}
