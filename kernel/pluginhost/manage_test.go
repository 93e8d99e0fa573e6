package pluginhost

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkFailure fails unless the error has the kind, a hint and all the texts.
func checkFailure(t *testing.T, err error, kind failure.Kind, says ...string) {
	t.Helper()
	f := failure.From(err)
	if f == nil || f.Kind != kind || f.Hint == "" {
		t.Fatalf("failure %+v, want kind %s with a hint", f, kind)
	}
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
		r, err := b.Lock(req)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r, err := b.Lock(LockRequest{Check: true}); err != nil || pluginNames(r) != "agent-plugin-good* agent-plugin-other*" {
		t.Errorf("nothing is locked: %s, %v", pluginNames(r), err)
	}
	_, err := b.Lock(LockRequest{Names: []string{"good"}, Check: true})
	checkFailure(t, err, failure.PluginUntrusted, "agent-plugin-good: nothing is locked for "+catalog.Platform(), "without --check")
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
	if diff := cmp.Diff([]string{"agent-plugin-gone"}, r.Missing); diff != "" {
		t.Error(diff)
	}
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
	if err != nil || !strings.Contains(string(text), "agent-plugin-good") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(b.cfg.ConfigDir, catalog.LockFile)); err == nil {
		t.Error("the user's lock was written as well")
	}
}

// An unknown name and an unreadable lock are errors.
func TestLockRefused(t *testing.T) {
	b := newBench(t, nil, "good", "prints")
	_, err := b.Lock(LockRequest{Names: []string{"goood"}})
	checkFailure(t, err, failure.PluginInvalid, "there is no plugin 'goood'", "did you mean 'good'?")
	if !errors.Is(err, ErrNoPlugin) {
		t.Errorf("%v is not ErrNoPlugin", err)
	}
	if err := os.WriteFile(filepath.Join(b.cfg.ConfigDir, catalog.LockFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = b.Lock(LockRequest{})
	checkFailure(t, err, failure.PluginUntrusted, catalog.LockFile)
	if err := os.Remove(filepath.Join(b.dir, "agent-plugin-good")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.cfg.ConfigDir, catalog.LockFile)); err != nil {
		t.Fatal(err)
	}
	if _, err = b.Lock(LockRequest{}); err == nil || !strings.Contains(err.Error(), "agent-plugin-good") {
		t.Errorf("its file is gone: %v", err)
	}
}

// A project that contains the user's configuration could trust itself: nothing is installed or locked there.
func TestConfigurationInsideTheProject(t *testing.T) {
	b := newBench(t, func(c *Config) { c.ConfigDir = filepath.Join(c.WorkDir, "config") }, "good")
	_, err := b.Lock(LockRequest{})
	checkFailure(t, err, failure.ConfigInvalid, "nothing can be locked", "XDG_CONFIG_HOME")
	_, err = b.Install(b.ctx(), InstallRequest{File: filepath.Join(b.dir, "agent-plugin-good")})
	checkFailure(t, err, failure.ConfigInvalid, "nothing can be installed", "XDG_CONFIG_HOME")
	if _, err := os.Stat(b.cfg.ConfigDir); err == nil {
		t.Error("the directory was made")
	}
}

// U207: an installation reports the plugins that it shadows or is shadowed by; removal deletes the file and
// its entry only.
func TestInstallAndRemove(t *testing.T) { // the program is called what the name is under which it is asked
	b := newBench(t, nil, "new")
	file := filepath.Join(b.dir, "agent-plugin-new")
	done, err := b.Install(b.ctx(), InstallRequest{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if done.Name != "new" || done.ShadowedBy != file || done.Shadows != "" {
		t.Errorf("%+v", done)
	}
	if _, err := b.Install(b.ctx(), InstallRequest{File: file, SHA256: strings.Repeat("0", 64)}); failure.From(err) == nil {
		t.Errorf("a file of another digest: %v", err)
	}
	removed, err := b.Remove(b.ctx(), "agent-plugin-new")
	if err != nil || removed.Path != done.Path {
		t.Errorf("%+v, %v", removed, err)
	}
	if _, err := os.Stat(done.Path); err == nil {
		t.Error("it is still there")
	}
	_, err = b.Remove(b.ctx(), "new")
	checkFailure(t, err, failure.PluginInvalid, "plugin 'new' is not in", file, "only what `agent-pipelines plugins install` puts there")
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

// A bundled plugin has no file: it does not block an installation and cannot be removed.
func TestInstallOverABundledOne(t *testing.T) {
	var asked atomic.Int32
	other := newPluginDir(t, "new")
	b := newBench(t, func(c *Config) { c.Bundled = bundledPlugins(&asked, "new") })
	done, err := b.Install(b.ctx(), InstallRequest{File: filepath.Join(other, "agent-plugin-new")})
	if err != nil || !strings.Contains(done.Shadows, "new") || done.ShadowedBy != "" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := b.Remove(b.ctx(), "new"); err != nil {
		t.Fatal(err)
	}
	_, err = b.Remove(b.ctx(), "new")
	checkFailure(t, err, failure.PluginInvalid, "plugin 'new' is not in", "this program carries it; --no-bundled")
}

// An unknown name is an error, with the reason if a file of that name was ignored.
func TestRemoveNobody(t *testing.T) {
	b := newBench(t, nil, "good")
	for name, says := range map[string]string{"missing": "there is no plugin 'missing'", "goot": "did you mean 'good'?", "../x": "there is no plugin '../x'"} {
		_, err := b.Remove(b.ctx(), name)
		checkFailure(t, err, failure.PluginInvalid, says)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent-plugin-flat"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	passed := newBench(t, func(c *Config) { c.PluginDirs = []string{dir} })
	_, err := passed.Remove(passed.ctx(), "flat")
	checkFailure(t, err, failure.PluginInvalid, "there is no plugin 'flat': "+filepath.Join(dir, "agent-plugin-flat")+" is ")
}
