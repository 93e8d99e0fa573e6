package pluginhost

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkFailure fails unless the error has the kind, a hint and all the texts.
func checkFailure(t *testing.T, err error, kind failure.Kind, says ...string) {
	t.Helper()
	f := failure.From(err)
	require(t, f != nil && f.Kind == kind && f.Hint != "", f, kind)
	contains(t, f.Message+"\n"+f.Hint, says...)
}

// pluginNames returns the names of a report's plugins, changed ones with a star.
func pluginNames(r LockReport) string {
	var all []string
	for _, e := range r.Plugins {
		name := e.Name
		if e.Changed() {
			name += "*"
		}
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// U208: the lock holds the current digests; different and missing plugins are reported.
func TestLock(t *testing.T) {
	var asked atomic.Int32
	b := newBench(t, func(c *Config) { c.Bundled = bundledPlugins(&asked, "inside") }, "good", "other")
	locked := func(req LockRequest) LockReport {
		t.Helper()
		return must(b.Lock(req))
	}
	compare(t, "agent-plugin-good* agent-plugin-other*", pluginNames(must(b.Lock(LockRequest{Check: true}))))
	_, err := b.Lock(LockRequest{Names: []string{"good"}, Check: true})
	checkFailure(t, err, failure.PluginUntrusted, "agent-plugin-good: nothing is locked for "+catalog.Platform(), "without "+failure.Option("check"))
	if r := locked(LockRequest{}); pluginNames(r) != "agent-plugin-good* agent-plugin-other*" || r.Lock != filepath.Join(b.cfg.ConfigDir, catalog.LockFile) {
		t.Errorf("%+v", r)
	}
	if r := locked(LockRequest{Names: []string{"agent-plugin-inside"}}); pluginNames(r) != "agent-plugin-inside*" || r.Plugins[0].Path == "" {
		t.Errorf("one that the program carries: %+v", r)
	}
	if r := locked(LockRequest{Check: true}); pluginNames(r) != "agent-plugin-good agent-plugin-other" || len(r.Missing) != 0 {
		t.Errorf("all are locked: %+v", r)
	}
	store := catalog.Store{Dir: b.cfg.ConfigDir}
	wrong := strings.Repeat("0", 64)
	if err := store.ChangeLock(store.LockPath(), func(l catalog.Lock) {
		l.Set("agent-plugin-good", catalog.Platform(), wrong)
		l.Set("agent-plugin-gone", catalog.Platform(), wrong)
		l.Set("agent-plugin-elsewhere", "plan9_mips", wrong)
	}); err != nil {
		t.Fatal(err)
	}
	r, err := b.Lock(LockRequest{Check: true})
	checkFailure(t, err, failure.PluginUntrusted, "agent-plugin-good: "+filepath.Join(b.dir, "agent-plugin-good")+" has sha256 ", "locked is "+wrong)
	compare(t, []string{"agent-plugin-gone"}, r.Missing)
}

// A project's lock is a separate file, independent of the user's.
func TestProjectLock(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "plugins.lock")
	b := newBench(t, func(c *Config) { c.ProjectLock = lock }, "good")
	for range 2 { // the second time there is nothing to write
		if r, err := b.Lock(LockRequest{Project: true}); err != nil || r.Lock != lock {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	text, err := os.ReadFile(lock)
	require(t, err == nil && strings.Contains(string(text), "agent-plugin-good"), string(text), err)
	_, err = os.Stat(filepath.Join(b.cfg.ConfigDir, catalog.LockFile))
	require(t, err != nil, "the user's lock was written as well")
}

// An unknown name and an unreadable lock are errors.
func TestLockRefused(t *testing.T) {
	b := newBench(t, nil, "good", "prints")
	_, err := b.Lock(LockRequest{Names: []string{"goood"}})
	checkFailure(t, err, failure.PluginInvalid, "there is no plugin 'goood'", "did you mean 'good'?")
	require(t, errors.Is(err, ErrNoPlugin), err)
	check(t, os.WriteFile(filepath.Join(b.cfg.ConfigDir, catalog.LockFile), []byte("{"), 0o600))
	_, err = b.Lock(LockRequest{})
	checkFailure(t, err, failure.PluginUntrusted, catalog.LockFile)
	check(t, os.Remove(filepath.Join(b.dir, "agent-plugin-good")))
	check(t, os.Remove(filepath.Join(b.cfg.ConfigDir, catalog.LockFile)))
	_, err = b.Lock(LockRequest{})
	require(t, err != nil && strings.Contains(err.Error(), "agent-plugin-good"), err)
}

// A project that contains the user's configuration could trust itself: nothing is locked there.
func TestConfigurationInsideTheProject(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ConfigDir = filepath.Join(c.WorkDir, "config") }, "good")
	_, err := b.Lock(LockRequest{})
	checkFailure(t, err, failure.ConfigInvalid, "nothing can be locked", "XDG_CONFIG_HOME")
	_, err = os.Stat(b.cfg.ConfigDir)
	require(t, err != nil, "the directory was made")
}

// An unknown name is an error, with the reason if a file of that name was ignored.
func TestUnknownPlugin(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "agent-plugin-flat"), []byte("x"), 0o600))
	b := newBench(t, func(c *Config) { c.PluginDirs = append(c.PluginDirs, dir) }, "good")
	for name, says := range map[string]string{
		"missing": "there is no plugin 'missing'", "goot": "did you mean 'good'?", "../x": "there is no plugin '../x'",
		"flat": "there is no plugin 'flat': " + filepath.Join(dir, "agent-plugin-flat") + " is ",
	} {
		checkFailure(t, b.UnknownPlugin(name), failure.PluginInvalid, says)
	}
}
