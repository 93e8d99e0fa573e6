package pluginhost

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestPluginStartFailures(t *testing.T) {
	tests := []struct {
		name   string
		kind   failure.Kind
		texts  []string
		detail string
	}{
		{"prints", failure.PluginInvalid, []string{`printed "hello from the plugin" on stdout`}, ""},
		{"hangs", failure.ProviderTimeout, []string{"did not complete the handshake in time"}, ""},
		{"dies", failure.ProviderCrashed, []string{"ended before the handshake", "exit status 3"}, "cannot find my settings"},
		{"floods", failure.PluginInvalid, []string{`printed "xxxx`}, ""},
		{"othercookie", failure.PluginInvalid, []string{"another handshake cookie"}, "This binary is a plugin"},
		{"newprotocol", failure.PluginInvalid, []string{"speaks protocol version 99, this program speaks 1"}, ""},
		{"tcp", failure.PluginInvalid, []string{"listens on tcp 127.0.0.1:1"}, ""},
		{"outside", failure.PluginInvalid, []string{"outside its socket directory"}, ""},
		{"certified", failure.PluginInvalid, []string{"does not answer after the handshake"}, ""},
		{"deaf", failure.ProviderTimeout, []string{"did not answer in time after the handshake"}, ""},
		{"leaves", failure.ProviderCrashed, []string{"ended unexpectedly (exit status 4)"}, ""},
		{"swallows", failure.ProviderCrashed, []string{"ended unexpectedly (exit status 6)"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log lockedBuffer
			b := newBench(t, func(c *Config) {
				c.StartTimeout = time.Second
				c.Logger = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Warn})
			}, tt.name)
			_, err := b.Provider(b.ctx(), tt.name, Use{})
			f := failure.From(err)
			require(t, f != nil && f.Kind == tt.kind && f.Hint != "", f)
			contains(t, f.Message, append(tt.texts, filepath.Join(b.dir, "agent-plugin-"+tt.name))...)
			contains(t, f.Detail, tt.detail)
			compare(t, "", log.String())
		})
	}
}

// The error of a healthy plugin that implements nothing does not count as a crash.
func TestPluginWithoutComponents(t *testing.T) {
	b := newBench(t, nil, "mute")
	_, err := b.Provider(b.ctx(), "mute", Use{})
	require(t, err != nil && failure.KindOf(err) != failure.ProviderCrashed, err)
	contains(t, err.Error(), "nothing to say")
}

func TestInvalidPluginFiles(t *testing.T) {
	tests := []struct {
		name, content string
		kind          failure.Kind
		texts         string
	}{
		{"text", "just some text, and a little more\n", failure.PluginInvalid, "is not a program for"},
		{"interpreter", "#!/no/such/interpreter\n", failure.ProviderMissing, "interpreter"},
		{"script", "#!/bin/sh\necho my interpreter speaks >&2\nexit 4\n", failure.ProviderCrashed, "exit status 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, os.WriteFile(filepath.Join(dir, "agent-plugin-"+tt.name), []byte(tt.content), 0o700))
			b := newBench(t, func(c *Config) { c.PluginDirs = []string{dir} })
			_, err := b.Provider(b.ctx(), tt.name, Use{})
			require(t, failure.KindOf(err) == tt.kind, err)
			contains(t, err.Error(), tt.texts, dir)
		})
	}
}

func TestBrokenPluginAffectsNoOther(t *testing.T) {
	b := newBench(t, nil, "dies", "good")
	compare(t, "hello", b.output(b.provider("good", Use{}), "hello"))
	_, err := b.Provider(b.ctx(), "goood", Use{})
	f := failure.From(err)
	contains(t, f.Message, `unknown provider: goood`, "good")
	contains(t, f.Hint, `did you mean "good"`, b.dir)
	contains(t, f.Detail, "agent-plugin-dies")
}

func TestChangedLockedPluginIsRefused(t *testing.T) {
	b := newBench(t, func(c *Config) {
		store := catalog.Store{Dir: c.ConfigDir}
		wrong := strings.Repeat("0", 64)
		check(t, store.ChangeLock(store.LockPath(), func(l catalog.Lock) { l.Set("agent-plugin-good", catalog.Platform(), wrong) }))
	}, "good")
	_, err := b.Provider(b.ctx(), "good", Use{})
	require(t, failure.KindOf(err) == failure.PluginUntrusted, err)
	contains(t, err.Error(), "plugins.lock", strings.Repeat("0", 64))
	compare(t, 0, len(b.seen(Started)))
}

func TestDamagedLockStopsTheHost(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, catalog.LockFile), []byte("{"), 0o600))
	if _, err := New(Config{ConfigDir: dir, CacheDir: disabledDir, Executable: disabledDir}, nil); failure.KindOf(err) != failure.PluginUntrusted {
		t.Errorf("New: %v", err)
	}
}

func TestSocketDirectoryTooLong(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 90))
	check(t, os.Mkdir(long, 0o700))
	b := newBench(t, func(c *Config) { c.SocketBases = []string{long} }, "good")
	_, err := b.Provider(b.ctx(), "good", Use{})
	f := failure.From(err)
	contains(t, f.Message, "agent-plugin-good", "short enough")
	contains(t, f.Hint, "TMPDIR")
}

func TestStartCanBeCancelled(t *testing.T) {
	for _, name := range []string{"hangs", "deaf"} { // before the handshake, and after it
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *Config) { c.StartTimeout = testTimeout }, name)
			stop := errors.New("the user said stop")
			ctx, cancel := context.WithCancelCause(b.ctx())
			timer := time.AfterFunc(500*time.Millisecond, func() { cancel(stop) })
			defer timer.Stop()
			_, err := b.Provider(ctx, name, Use{})
			require(t, errors.Is(err, stop), err)
		})
	}
}

func TestProjectDirectoryIsRefused(t *testing.T) {
	project := newPluginDir(t, "good")
	b := newBench(t, func(c *Config) {
		c.PluginDirs = nil
		c.WorkDir = project
		c.Environ = append(c.Environ, "AGENT_PIPELINES_PLUGIN_DIR="+project)
	})
	if _, err := b.Provider(b.ctx(), "good", Use{}); failure.KindOf(err) != failure.ProviderMissing {
		t.Errorf("error %v, want %s", err, failure.ProviderMissing)
	}
	l, err := b.List(b.ctx())
	require(t, err == nil && len(l.Plugins) == 0 && len(l.Ignored) == 1, l, err)
	contains(t, l.Ignored[0].Reason, "inside the project directory", failure.Next("trust", project).String())
}

func TestList(t *testing.T) {
	b := newBench(t, nil, "good", "dies")
	check(t, b.RegisterProvider(localProvider{name: "good"}))
	l := must(b.List(b.ctx()))
	require(t, len(l.Plugins) == 2 && l.Plugins[0].Name == "dies" && l.Plugins[0].Fault != nil && l.Plugins[1].Fault == nil, l.Plugins)
	require(t, len(l.Registered) == 1 && len(l.Conflicts) == 1 && l.Conflicts[0].Hidden == filepath.Join(b.dir, "agent-plugin-good"), l.Registered, l.Conflicts)
}

// A change of a plugin's file during a session is reported, with its path, at the next call.
func TestFileOfARunningPlugin(t *testing.T) {
	for _, tt := range []struct {
		name    string
		change  func(path string) error
		kind    failure.Kind
		message string
	}{
		{"removed", os.Remove, failure.ProviderMissing, "does not exist"},
		{"replaced by what is no plugin", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("#!/bin/sh\necho no plugin >&2\nexit 3\n"), 0o700), os.Rename(path+".new", path))
		}, failure.ProviderCrashed, "ended before the handshake"},
		{"no longer executable", func(path string) error { return os.Chmod(path, 0o600) }, failure.PluginInvalid, "not executable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			content := must(os.ReadFile(badplugin))
			dir := t.TempDir()
			path := filepath.Join(dir, "agent-plugin-good")
			check(t, os.WriteFile(path, content, 0o700))
			b := newBench(t, func(c *Config) { c.PluginDirs = []string{dir} })
			p := b.provider("good", Use{})
			b.output(p, "pid")
			check(t, tt.change(path))
			_, err := p.Execute(b.ctx(), sdk.ExecuteRequest{Prompt: "pid"}, nil)
			f := failure.From(err)
			require(t, f != nil && f.Kind == tt.kind && strings.Contains(f.Message, path) && strings.Contains(f.Message, tt.message), f)
		})
	}
}

// U264: the error of an unknown name lists the existing components of the kind.
func TestUnknownComponents(t *testing.T) {
	b := newBench(t, nil)
	for kind, find := range map[string]func() error{
		"provider":    func() error { _, err := b.Provider(b.ctx(), "missing", Use{}); return err },
		"termination": func() error { _, err := b.Termination(b.ctx(), "missing", Use{}); return err },
		"hook":        func() error { _, err := b.HookAction(b.ctx(), "missing", Use{}); return err },
		"component":   func() error { _, err := b.Component(b.ctx(), sdk.KindProvider, "missing"); return err },
	} {
		f := failure.From(find())
		require(t, f != nil && f.Kind == failure.ProviderMissing && strings.Contains(f.Message, `: missing (`) && f.Hint != "", kind, f)
	}
}

// List ends with the caller's context.
func TestListIsCancelled(t *testing.T) {
	b := newBench(t, nil, "good")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l, err := b.List(ctx)
	require(t, errors.Is(err, context.Canceled), l, err)
}
