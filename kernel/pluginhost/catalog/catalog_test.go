package catalog

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// pluginFiles is a directory of files whose names decide their descriptions; it counts the descriptions.
type pluginFiles struct {
	mu       sync.Mutex
	requests map[string]int
	find     SearchResult
}

func newPluginFiles(t *testing.T, names ...string) *pluginFiles {
	t.Helper()
	dir := t.TempDir()
	s := &pluginFiles{requests: map[string]int{}}
	s.find.Searched = []SearchDir{{Dir: dir, Source: FromFlag}}
	for _, n := range names {
		path := filepath.Join(dir, Prefix+n)
		check(t, os.WriteFile(path, []byte(n), 0o700))
		s.find.Plugins = append(s.find.Plugins, Plugin{Name: n, Path: path})
	}
	return s
}

func (s *pluginFiles) describe(_ context.Context, b *Binary) (sdk.Description, error) {
	name := strings.TrimPrefix(filepath.Base(b.Path), Prefix)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[name]++
	if name == "broken" {
		return sdk.Description{}, failure.New(failure.PluginInvalid, "plugin %s is broken", b.Path)
	}
	return sdk.Description{
		Name: name, Version: "1.0.0", Protocols: []int{1}, SDK: "go/0.1.0",
		Components: []sdk.Component{
			{Kind: sdk.KindProvider, Name: name, Aliases: []string{name + "-code"}},
			{Kind: sdk.KindTermination, Name: "shared"},
		},
	}, nil
}

func (s *pluginFiles) catalog(cache string) *Catalog {
	return New(Config{Search: s.find, Verifier: NewVerifier(NewCache("")), Cache: NewCache(cache), Describe: s.describe})
}

func TestFind(t *testing.T) {
	s := newPluginFiles(t, "claude", "codex")
	c := s.catalog("")
	local := "in this process"
	check(t, c.Register(sdk.Component{Kind: sdk.KindProvider, Name: "codex"}, &local))
	tests := []struct {
		kind sdk.Kind
		name string
		want string // the path's base, or the local component
	}{
		{sdk.KindProvider, "claude", "agent-plugin-claude"},
		{sdk.KindProvider, "claude-code", "agent-plugin-claude"},
		{sdk.KindProvider, "codex", local},
		{sdk.KindTermination, "shared", "agent-plugin-claude"},
	}
	for _, tt := range tests {
		e, err := c.Find(t.Context(), tt.kind, tt.name)
		if err != nil {
			t.Errorf("Find(%s): %v", tt.name, err)
			continue
		}
		got := filepath.Base(e.Plugin.Path)
		if e.Target != nil {
			got = *e.Target.(*string)
		}
		compare(t, tt.want, got)
	}
}

func TestRegisteredComponentsDescribeNoPlugin(t *testing.T) {
	s := newPluginFiles(t, "claude")
	c := s.catalog("")
	check(t, c.Register(sdk.Component{Kind: sdk.KindTermination, Name: "fixed"}, 1))
	_, err := c.Find(t.Context(), sdk.KindTermination, "fixed")
	require(t, err == nil && len(s.requests) == 0, err, s.requests)
}

func TestRegisterRefuses(t *testing.T) {
	c := newPluginFiles(t).catalog("")
	first := sdk.Component{Kind: sdk.KindProvider, Name: "x"}
	check(t, c.Register(first, 1))
	for _, bad := range []sdk.Component{first, {Kind: sdk.KindProvider}} {
		require(t, c.Register(bad, 1) != nil, bad)
	}
	check(t, c.Register(sdk.Component{Kind: sdk.KindHookAction, Name: "x"}, 1))
}

func TestMissing(t *testing.T) {
	s := newPluginFiles(t, "claude", "codex", "broken")
	c := s.catalog("")
	_, err := c.Find(t.Context(), sdk.KindProvider, "cluade")
	f := failure.From(err)
	compare(t, failure.ProviderMissing, f.Kind)
	for _, part := range []string{`unknown provider: cluade`, "claude, codex"} {
		require(t, strings.Contains(f.Message, part), f.Message, part)
	}
	for _, part := range []string{`did you mean "claude"?`, s.find.Searched[0].Dir, "agent-plugin-cluade"} {
		require(t, strings.Contains(f.Hint, part), f.Hint, part)
	}
	require(t, strings.Contains(f.Detail, "agent-plugin-broken: plugin"), f.Detail)
	if _, err := c.Find(t.Context(), sdk.KindProvider, "broken"); failure.KindOf(err) != failure.PluginInvalid {
		t.Errorf("the broken plugin itself: %v", err)
	}
	_, err = c.Find(t.Context(), sdk.KindHookAction, "webhook")
	require(t, strings.Contains(err.Error(), `unknown hook action: webhook (none exists)`), err)
}

func TestConflicts(t *testing.T) {
	s := newPluginFiles(t, "claude", "codex")
	_, got, err := s.catalog("").Entries(t.Context())
	want := []Conflict{{sdk.KindTermination, "shared", s.find.Plugins[0].Path, s.find.Plugins[1].Path}}
	compare(t, want, got)
	compare(t, nil, err)
}

func TestDescriptionsAreRemembered(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache", "describe.json")
	s := newPluginFiles(t, "claude", "broken")
	for range 3 {
		c := s.catalog(cache)
		for range 2 {
			must(c.Plugins(t.Context()))
		}
	}
	compare(t, map[string]int{"claude": 1, "broken": 3}, s.requests)
	check(t, os.WriteFile(s.find.Plugins[0].Path, []byte("a new build"), 0o700))
	_, err := s.catalog(cache).Plugins(t.Context())
	require(t, err == nil && s.requests["claude"] == 2, s.requests["claude"], err)
}

func TestDamagedCacheIsIgnored(t *testing.T) {
	for _, content := range []string{"", "{", `{"version":99}`, `{"version":2,"plugins":{"x":{"description":{}}}}`, "null"} {
		cache := filepath.Join(t.TempDir(), "describe.json")
		check(t, os.WriteFile(cache, []byte(content), 0o600))
		s := newPluginFiles(t, "claude")
		for range 2 {
			if _, err := s.catalog(cache).Find(t.Context(), sdk.KindProvider, "claude"); err != nil {
				t.Errorf("with the memory %q: %v", content, err)
			}
		}
		require(t, s.requests["claude"] == 1, content, s.requests["claude"])
	}
}

func TestCancelledDescriptionIsNotRemembered(t *testing.T) {
	s := newPluginFiles(t, "claude")
	c := s.catalog("")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Plugins(ctx)
	require(t, err != nil, "no error from a cancelled context")
	if _, err := c.Find(t.Context(), sdk.KindProvider, "claude"); err != nil {
		t.Errorf("after the cancellation: %v", err)
	}
}

func FuzzCache(f *testing.F) {
	good := must(json.Marshal(cacheFile{Version: cacheVersion, Plugins: map[string]cachedDescription{"/p": {binaryID: binaryID{Size: 1, SHA256: "x"}}}}))
	f.Add(good)
	f.Add([]byte(`{"version":2,"plugins":{"x":null}}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for path, e := range parseCache(b).Plugins {
			if len(e.Description.Components) == 0 {
				t.Errorf("%s is remembered without a component", path)
			}
		}
	})
}

// A plugin that does not answer is asked once in half a minute, across commands, unless its file changes. A
// plugin that fails at once is asked each time.
func TestUnresponsivePluginIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, Prefix+"mute")
		write := func(content string) {
			check(t, os.WriteFile(file, []byte(content), 0o700))
		}
		asked, kind := 0, failure.ProviderTimeout
		ask := func() *failure.Error {
			c := New(Config{
				Verifier: NewVerifier(NewCache("")), Cache: NewCache(filepath.Join(dir, "cache", "describe.json")),
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
		f := ask()
		require(t, strings.Contains(f.Hint, "not asked again before"), f.Hint)
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

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}
