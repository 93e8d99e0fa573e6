package e2ereal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// The pinned release: flags and events of the CLI change between releases.
const (
	Package = "@anthropic-ai/claude-code"
	Version = "2.1.329"
)

// CacheDir is where CLIs are installed: E2E_CACHE, else a folder of the user's cache.
func CacheDir() (string, error) {
	if dir := os.Getenv("E2E_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: %w; set E2E_CACHE", err)
	}
	return filepath.Join(base, "agent-pipelines", "e2e"), nil
}

// Install returns the absolute path of the pinned CLI, whose file name is "claude". One that is in
// the cache already is used again, else npm installs it. Safe for several processes at once: they
// wait for each other until ctx ends.
func Install(ctx context.Context, cache string) (string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(cache, ".lock"))
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another installation in %s: %w", cache, err)
	}
	defer lock.Close()
	final := filepath.Join(cache, "claude-code-"+Version)
	if path, err := find(ctx, final); err == nil {
		return path, nil
	}
	if err := installAt(ctx, final); err != nil {
		return "", err
	}
	return find(ctx, final)
}

// installAt installs beside the final place and moves there what works, so that an installation
// that was cut off is never taken for one.
func installAt(ctx context.Context, final string) error {
	fresh := final + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(final), os.Mkdir(fresh, 0o755)); err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := npmInstall(ctx, fresh); err != nil {
		return err
	}
	if _, err := find(ctx, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, final)
}

// npmInstall runs npm with the user's own configuration. The package's scripts do not run: all they
// do is to put a second name on the native binary.
func npmInstall(ctx context.Context, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm is needed to install %s: %w; install Node.js", Package, err)
	}
	out, err := exec.CommandContext(ctx, npm, "install", "--prefix", dir,
		"--ignore-scripts", "--no-audit", "--no-fund", Package+"@"+Version).CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm install %s@%s: %w\n%s", Package, Version, err, out)
	}
	return nil
}

// find returns the CLI of an installation when it runs and is the pinned version. The native binary
// lies in a package named after the platform; the wrapper's link is only good where the package's
// scripts did run.
func find(ctx context.Context, dir string) (string, error) {
	modules := filepath.Join(dir, "node_modules")
	candidates, err := filepath.Glob(filepath.Join(modules, Package+"-*", "claude"))
	if err != nil {
		return "", err
	}
	faults := []error{fmt.Errorf("no working %s %s in %s", Package, Version, dir)}
	for _, path := range append(candidates, filepath.Join(modules, ".bin", "claude")) {
		err := probe(ctx, path, dir)
		if err == nil {
			return path, nil
		}
		faults = append(faults, err)
	}
	return "", errors.Join(faults...)
}

// probe asks a binary for its version.
func probe(ctx context.Context, path, home string) error {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin"}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", path, err)
	}
	if got, _, _ := strings.Cut(string(out), " "); got != Version {
		return fmt.Errorf("%s is version %q, not %s", path, got, Version)
	}
	return nil
}
