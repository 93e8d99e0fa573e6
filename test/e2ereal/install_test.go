package e2ereal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
)

// Scripts of fake installations: a shell script replaces npm, another one the CLI that npm installs. $3 is the --prefix
// directory.
const (
	native   = `bin="$3/node_modules/@anthropic-ai/claude-code-linux-x64/claude"`
	writeCLI = `
mkdir -p "$(dirname "$bin")"
printf '#!/bin/sh\necho "%s (Claude Code)"\n' "$FAKE_VERSION" > "$bin"
chmod +x "$bin"
`
)

// fakeNPM sets PATH so that npm is a script that logs its calls and runs body. It returns the log's path.
func fakeNPM(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := "#!/bin/sh\necho \"$@\" >> '" + log + "'\n" + body
	check(t, os.WriteFile(filepath.Join(dir, "npm"), []byte(script), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("FAKE_VERSION", Claude.Version)
	return log
}

func calls(t *testing.T, log string) int {
	t.Helper()
	text := must(os.ReadFile(log))
	return strings.Count(string(text), "\n")
}

// names returns the names in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries := must(os.ReadDir(dir))
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestInstall(t *testing.T) {
	cases := []struct {
		cli           CLI
		place, folder string
	}{
		{Claude, native, "claude-code-" + Claude.Version},
		{Codex, `bin="$3/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"`, "codex-" + Codex.Version},
	}
	for _, c := range cases {
		t.Run(c.cli.Name, func(t *testing.T) {
			log := fakeNPM(t, c.place+writeCLI)
			t.Setenv("FAKE_VERSION", c.cli.Version)
			cache := filepath.Join(t.TempDir(), "not", "there", "yet")
			first := must(c.cli.Install(t.Context(), cache))
			again := must(c.cli.Install(t.Context(), cache))
			if first != again || filepath.Base(first) != c.cli.Name || !strings.HasPrefix(first, filepath.Join(cache, c.folder)+"/") {
				t.Errorf("got %s, then %s", first, again)
			}
			if n := calls(t, log); n != 1 {
				t.Errorf("npm ran %d times, want once", n)
			}
			if diff := cmp.Diff([]string{".lock", c.folder}, names(t, cache)); diff != "" {
				t.Errorf("the cache (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstallReplacesBrokenCache(t *testing.T) {
	fakeNPM(t, native+writeCLI)
	cache := t.TempDir()
	broken := filepath.Join(cache, "claude-code-"+Claude.Version, "node_modules", ".bin")
	check(t, os.MkdirAll(broken, 0o755))
	if _, err := Claude.Install(t.Context(), cache); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(broken); !os.IsNotExist(err) {
		t.Errorf("the broken installation is still there: %v", err)
	}
}

func TestInstallConcurrently(t *testing.T) {
	log := fakeNPM(t, native+writeCLI)
	cache := t.TempDir()
	errs := make([]error, 4)
	var installing sync.WaitGroup
	for i := range errs {
		installing.Go(func() { _, errs[i] = Claude.Install(t.Context(), cache) })
	}
	installing.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if n := calls(t, log); n != 1 {
		t.Errorf("npm ran %d times, want once", n)
	}
}

func TestInstallWaitIsBounded(t *testing.T) {
	fakeNPM(t, native+writeCLI)
	cache := t.TempDir()
	other := flock.New(filepath.Join(cache, ".lock"))
	check(t, other.Lock())
	defer other.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Claude.Install(ctx, cache); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestInstallFailures(t *testing.T) {
	cases := []struct {
		name, npm, version string
		want               string
	}{
		{"npm fails", "echo 'no network' >&2; exit 7", Claude.Version, "exit status 7\nno network"},
		{"nothing installed", "true", Claude.Version, "no working @anthropic-ai/claude-code " + Claude.Version},
		{"another version", native + writeCLI, "1.0.0", `is version "1.0.0", not ` + Claude.Version},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			fakeNPM(t, c.npm)
			t.Setenv("FAKE_VERSION", c.version)
			cache := t.TempDir()
			_, err := Claude.Install(t.Context(), cache)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff([]string{".lock"}, names(t, cache)); diff != "" {
				t.Errorf("the cache (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstallWithoutNPM(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Claude.Install(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "npm is needed") {
		t.Errorf("got %v", err)
	}
}

func TestCacheDir(t *testing.T) {
	t.Setenv("E2E_CACHE", "/some/cache")
	got, err := CacheDir()
	if diff := cmp.Diff("/some/cache", got); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	t.Setenv("E2E_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "/home/ann")
	got, err = CacheDir()
	if err != nil || !strings.HasPrefix(got, "/home/ann/") || !strings.HasSuffix(got, "/agent-pipelines/e2e") {
		t.Errorf("got %q, error %v", got, err)
	}
}

// TestMeasured checks that the plugins document the releases that are installed here.
func TestMeasured(t *testing.T) {
	for plugin, cli := range map[string]CLI{"claude": Claude, "codex": Codex} {
		text := must(os.ReadFile(filepath.Join("../../plugins", plugin, plugin, "plugin.go")))
		if want := fmt.Sprintf("measured = cliagent.TestedVersion{Version: %q,", cli.Version); !strings.Contains(string(text), want) {
			t.Errorf("plugin %s does not have %s", plugin, want)
		}
	}
}
