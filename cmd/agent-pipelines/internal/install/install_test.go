package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// describeText describes plugins that are a line of text: "plugin <name> <version>".
func describeText(_ context.Context, b *catalog.Binary) (sdk.Description, error) {
	text, err := os.ReadFile(b.Path)
	if err != nil {
		return sdk.Description{}, err
	}
	var d sdk.Description
	if n, _ := fmt.Sscanf(string(text), "plugin %s %s", &d.Name, &d.Version); n != 2 {
		return d, failure.New(failure.PluginInvalid, "plugin %s does not say what it is", b.Path)
	}
	return d, nil
}

// installer returns an Installer with a directory of its own.
func installer(t *testing.T) Installer {
	t.Helper()
	return Installer{Store: catalog.Store{Dir: filepath.Join(t.TempDir(), "config")}, Describe: describeText}
}

func plugin(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, []byte(content), 0o755))
	return path
}

// U254, U258: an installed plugin is locked; the same file again changes nothing; another build needs force.
func TestInstall(t *testing.T) {
	in := installer(t)
	first, second := plugin(t, "any-name", "plugin echo 1.0.0"), plugin(t, "x", "plugin echo 2.0.0")
	r, err := in.Install(t.Context(), Request{File: first})
	if err != nil || r.Name != "echo" || r.Version != "1.0.0" || r.Replaced != nil || r.Unchanged || r.Path != filepath.Join(in.Dir(), catalog.Prefix+"echo") {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err := in.Install(t.Context(), Request{File: first, SHA256: strings.ToUpper(r.SHA256)}); err != nil || !r.Unchanged || r.Replaced != nil {
		t.Errorf("the same again: %+v, %v", r, err)
	}
	if _, err := in.Install(t.Context(), Request{File: second}); !errors.Is(err, ErrInstalled) || !strings.Contains(err.Error(), "version 1.0.0") {
		t.Errorf("another one: %v", err)
	}
	checkInstalled(t, in, first)
	forced, err := in.Install(t.Context(), Request{File: second, Force: true})
	if err != nil || forced.Replaced == nil || forced.Replaced.Version != "1.0.0" {
		t.Errorf("by force: %+v, %v", forced, err)
	}
	checkInstalled(t, in, second)
}

// checkInstalled checks that the plugin echo is the content of file, that the lock agrees, and that nothing else exists.
func checkInstalled(t *testing.T, in Installer, file string) {
	t.Helper()
	want := must(os.ReadFile(file))
	got, err := os.ReadFile(filepath.Join(in.Dir(), catalog.Prefix+"echo"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("installed is %q, %v; want %q", got, err, want)
	}
	b := must(catalog.NewVerifier(catalog.NewCache("")).Open(in.path("echo")))
	defer b.Close()
	lock := must(in.Store.Lock())
	if sum, locked := lock.Digest(catalog.Prefix+"echo", catalog.Platform()); !locked || sum != b.SHA256 {
		t.Errorf("locked %q, %t; the file has %s", sum, locked, b.SHA256)
	}
	entries, err := os.ReadDir(in.Dir())
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// An archive is installed as the binary in it, and the remains of an interrupted installation are deleted.
func TestInstallArchive(t *testing.T) {
	in := installer(t)
	check(t, os.MkdirAll(filepath.Join(in.Dir(), stagePrefix+"left"), 0o755))
	archive := plugin(t, "echo.tar.gz", string(packTar(t, file{name: "README", content: "x"}, file{name: "agent-plugin-echo", content: "plugin echo 3.0.0"})))
	if r, err := in.Install(t.Context(), Request{File: archive}); err != nil || r.Version != "3.0.0" {
		t.Fatalf("%+v, %v", r, err)
	}
	checkInstalled(t, in, plugin(t, "want", "plugin echo 3.0.0"))
}

// A refused installation leaves nothing and gives reason and remedy.
func TestInstallRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, in Installer) Request
		kind    failure.Kind
		message string
		hint    string
	}{
		"no file": {func(*testing.T, Installer) Request { return Request{File: "/none"} }, failure.PluginInvalid, "/none", "path of a plugin's binary"},
		"another digest": {func(t *testing.T, _ Installer) Request {
			return Request{File: plugin(t, "p", "plugin echo 1"), SHA256: "ab"}
		}, failure.PluginUntrusted, "expected ab", "nothing was installed"},
		"an archive without a plugin": {func(t *testing.T, _ Installer) Request {
			return Request{File: plugin(t, "a.tgz", string(packTar(t, file{name: "README", content: "x"})))}
		}, failure.PluginInvalid, "install ", "holds one file called agent-plugin-<name>"},
		"an archive that is cut off": {func(t *testing.T, _ Installer) Request {
			return Request{File: plugin(t, "a.tgz", string(packTar(t, file{name: "agent-plugin-echo", content: "plugin echo 1"})[:30]))}
		}, failure.PluginInvalid, "install ", "nothing was installed"},
		"no plugin": {func(t *testing.T, _ Installer) Request { return Request{File: plugin(t, "p", "hello")} }, failure.PluginInvalid, "nothing was installed: plugin ", ""},
		"a directory writable by all users": {func(t *testing.T, in Installer) Request {
			check(t, errors.Join(os.MkdirAll(in.Dir(), 0o777), os.Chmod(in.Dir(), 0o777)))
			return Request{File: plugin(t, "p", "plugin echo 1")}
		}, failure.PluginUntrusted, "nothing in it would be used", "make the directory writable by you only"},
		"a directory of the name": {func(t *testing.T, in Installer) Request {
			check(t, os.MkdirAll(in.path("echo"), 0o755))
			return Request{File: plugin(t, "p", "plugin echo 1")}
		}, failure.PluginInvalid, "is a directory", "remove it"},
		"locked to another file": {func(t *testing.T, in Installer) Request {
			err := in.Store.ChangeLock(in.Store.LockPath(), func(l catalog.Lock) { l.Set(catalog.Prefix+"echo", catalog.Platform(), strings.Repeat("a", 64)) })
			check(t, err)
			return Request{File: plugin(t, "p", "plugin echo 1")}
		}, failure.PluginUntrusted, "locks agent-plugin-echo to another file", "--force replaces it"},
		"a damaged lock": {func(t *testing.T, in Installer) Request {
			check(t, errors.Join(os.MkdirAll(in.Store.Dir, 0o755), os.WriteFile(in.Store.LockPath(), []byte("{"), 0o600)))
			return Request{File: plugin(t, "p", "plugin echo 1")}
		}, failure.PluginUntrusted, "plugins.lock", ""},
		"a file where the directory belongs": {func(t *testing.T, in Installer) Request {
			check(t, os.WriteFile(in.Store.Dir, nil, 0o600))
			return Request{File: plugin(t, "p", "plugin echo 1")}
		}, failure.PluginInvalid, "make the plugin directory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := installer(t)
			req := tt.prepare(t, in)
			_, err := in.Install(t.Context(), req)
			f := failure.From(err)
			if err == nil || f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) {
				t.Fatalf("failure %+v, want %s with %q and the hint %q", f, tt.kind, tt.message, tt.hint)
			}
			if info, err := os.Stat(in.path("echo")); err == nil && !info.IsDir() {
				t.Error("it was installed all the same")
			}
		})
	}
}

// AUDIT F2: a component of another plugin is not hidden without force.
func TestInstallRefusesTakenNames(t *testing.T) {
	in := installer(t)
	claude := sdk.Component{Kind: sdk.KindProvider, Name: "claude"}
	in.Describe = func(context.Context, *catalog.Binary) (sdk.Description, error) {
		return sdk.Description{Name: "squatter", Version: "1", Components: []sdk.Component{claude}}, nil
	}
	in.Plugins = func(context.Context) ([]catalog.DescribedPlugin, error) {
		return []catalog.DescribedPlugin{{Plugin: catalog.Plugin{Name: "agents"}, Description: sdk.Description{Components: []sdk.Component{claude}}}}, nil
	}
	file := plugin(t, "x", "x")
	if _, err := in.Install(t.Context(), Request{File: file}); !errors.Is(err, ErrInstalled) || !strings.Contains(err.Error(), `serves the provider "claude"`) {
		t.Errorf("error %v", err)
	}
	if entries, _ := os.ReadDir(in.Dir()); len(entries) > 1 { // the lock file
		t.Errorf("the directory has %v", entries)
	}
	if _, err := in.Install(t.Context(), Request{File: file, Force: true}); err != nil {
		t.Error(err)
	}
}

// An unusable file is replaced like any other, by force, and its version is unknown.
func TestInstallReplacesBrokenFile(t *testing.T) {
	in := installer(t)
	check(t, errors.Join(os.MkdirAll(in.Dir(), 0o755), os.WriteFile(in.path("echo"), []byte("broken"), 0o755)))
	file := plugin(t, "p", "plugin echo 1.0.0")
	if _, err := in.Install(t.Context(), Request{File: file}); !errors.Is(err, ErrInstalled) || !strings.Contains(err.Error(), "version unknown") {
		t.Errorf("%v", err)
	}
	if r, err := in.Install(t.Context(), Request{File: file, Force: true}); err != nil || r.Replaced == nil || r.Replaced.Version != "" {
		t.Errorf("%+v, %v", r, err)
	}
	checkInstalled(t, in, file)
}

// Cancelling during the description installs nothing.
func TestInstallIsCancelled(t *testing.T) {
	in := installer(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("gone")
	in.Describe = func(context.Context, *catalog.Binary) (sdk.Description, error) {
		cancel(cause)
		return sdk.Description{Name: "echo"}, nil
	}
	if _, err := in.Install(ctx, Request{File: plugin(t, "p", "plugin echo 1")}); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if entries, err := os.ReadDir(in.Dir()); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Remove deletes the file and its lock entry, whichever exists.
func TestRemove(t *testing.T) {
	in := installer(t)
	if r, found, err := in.Remove(t.Context(), "echo"); err != nil || found || r.Path != "" {
		t.Errorf("nothing there: %+v, %t, %v", r, found, err)
	}
	if _, err := in.Install(t.Context(), Request{File: plugin(t, "p", "plugin echo 1")}); err != nil {
		t.Fatal(err)
	}
	if r, found, err := in.Remove(t.Context(), "echo"); err != nil || !found || r.Path != in.path("echo") || !r.Unlocked {
		t.Errorf("%+v, %t, %v", r, found, err)
	}
	if r, found, err := in.Remove(t.Context(), "echo"); err != nil || found {
		t.Errorf("a second time: %+v, %t, %v", r, found, err)
	}
	check(t, os.Mkdir(in.path("echo"), 0o755))
	if _, _, err := in.Remove(t.Context(), "echo"); err == nil || !strings.Contains(err.Error(), "is a directory, not a plugin") {
		t.Errorf("a directory: %v", err)
	}
}

// Remove and Install exclude each other. Remove refuses a directory that others can write to, and an
// unreadable lock.
func TestRemoveRefuses(t *testing.T) {
	t.Run("the directory is locked", func(t *testing.T) {
		in := installer(t)
		release := must(in.lockDir(t.Context()))
		defer release()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := in.Remove(ctx, "echo"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, err := in.Install(ctx, Request{File: plugin(t, "p", "plugin echo 1")}); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	t.Run("a directory writable by all users", func(t *testing.T) {
		in := installer(t)
		check(t, errors.Join(os.MkdirAll(in.Dir(), 0o777), os.Chmod(in.Dir(), 0o777)))
		if _, _, err := in.Remove(t.Context(), "echo"); failure.KindOf(err) != failure.PluginUntrusted {
			t.Errorf("%v", err)
		}
	})
	t.Run("a damaged lock", func(t *testing.T) {
		in := installer(t)
		check(t, errors.Join(os.MkdirAll(in.Store.Dir, 0o755), os.WriteFile(in.Store.LockPath(), []byte("{"), 0o600)))
		if _, _, err := in.Remove(t.Context(), "echo"); failure.KindOf(err) != failure.PluginUntrusted || !strings.Contains(err.Error(), catalog.LockFile) {
			t.Errorf("%v", err)
		}
		if _, err := in.Install(t.Context(), Request{File: plugin(t, "p", "plugin echo 1"), Force: true}); err == nil || !strings.Contains(failure.From(err).Hint, "nothing was installed") {
			t.Errorf("by force: %v", err)
		}
	})
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
