package e2ereal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// CLI is a pinned release of an agent's command line: flags and events change between releases.
type CLI struct {
	// Name is the file name of the native binary, Package and Version are those of npm.
	Name, Package, Version string
	// natives is the pattern of the binary's path below node_modules. The package is often named after the platform.
	natives string
	// lean leaves out the package's optional dependencies.
	lean bool
}

// Claude and Codex are the releases that the product is tested with. ClaudeACP and CodexACP are programs for Node.js
// that speak the Agent Client Protocol for them. They are lean, because their optional dependencies hold agents of
// other releases. Environment variables name the agents to run instead.
var (
	Claude = CLI{
		Name: "claude", Package: "@anthropic-ai/claude-code", Version: "2.1.329",
		natives: "@anthropic-ai/claude-code-*/claude",
	}
	Codex = CLI{
		Name: "codex", Package: "@openai/codex", Version: "0.169.0",
		natives: "@openai/codex-*/vendor/*/bin/codex",
	}
	ClaudeACP = CLI{
		Name: "claude-agent-acp", Package: "@agentclientprotocol/claude-agent-acp", Version: "0.100.0",
		natives: "@agentclientprotocol/claude-agent-acp/dist/index.js", lean: true,
	}
	CodexACP = CLI{
		Name: "codex-acp", Package: "@agentclientprotocol/codex-acp", Version: "2.6.0",
		natives: "@agentclientprotocol/codex-acp/dist/index.js", lean: true,
	}
)

// CacheDir returns the directory in which CLIs are installed: E2E_CACHE, else agent-pipelines/e2e in the user's cache.
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

// Install returns the absolute path of the CLI's binary. If the binary is not in the cache, npm installs it there, in
// its own directory. Install is safe for concurrent use by several processes, which wait for each other until ctx
// ends.
func (c CLI) Install(ctx context.Context, cache string) (string, error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(cache, ".lock"))
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another installation in %s: %w", cache, err)
	}
	defer lock.Close()
	final := filepath.Join(cache, filepath.Base(c.Package)+"-"+c.Version)
	if path, err := c.find(ctx, final); err == nil {
		return path, nil
	}
	if err := c.installAt(ctx, final); err != nil {
		return "", err
	}
	return c.find(ctx, final)
}

// installAt installs into a new directory and renames it to final if the CLI is found. An installation
// that was cut off is therefore never at final.
func (c CLI) installAt(ctx context.Context, final string) error {
	fresh := final + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(final), os.Mkdir(fresh, 0o755)); err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := c.npmInstall(ctx, fresh); err != nil {
		return err
	}
	if _, err := c.find(ctx, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, final)
}

// npmInstall runs npm with the user's own configuration. The packages' scripts do not run, because they only link a
// native binary.
func (c CLI) npmInstall(ctx context.Context, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm is needed to install %s: %w; install Node.js", c.Package, err)
	}
	args := []string{"install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", c.Package + "@" + c.Version}
	if c.lean {
		args = append(args, "--omit=optional")
	}
	out, err := exec.CommandContext(ctx, npm, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("npm install %s@%s: %w\n%s", c.Package, c.Version, err, out)
	}
	return nil
}

// find returns the path of an installed binary if the binary runs and has the pinned version. It does not use npm's
// link in .bin, which is only a wrapper.
func (c CLI) find(ctx context.Context, dir string) (string, error) {
	modules := filepath.Join(dir, "node_modules")
	candidates, err := filepath.Glob(filepath.Join(modules, c.natives))
	if err != nil {
		return "", err
	}
	faults := []error{fmt.Errorf("no working %s %s in %s", c.Package, c.Version, dir)}
	for _, path := range candidates {
		err := c.probe(ctx, path, dir)
		if err == nil {
			return path, nil
		}
		faults = append(faults, err)
	}
	return "", errors.Join(faults...)
}

// BuildPrograms builds programs of the workspace. packages maps their paths below dir to their packages. Without
// flags it copies programs that the directory of AGENT_PIPELINES_BUILT has at the same paths. AGENT_PIPELINES_BUILT_SUM is
// the checksum of these programs, for the cache of test results. The caller works in a package directory two levels below
// the workspace.
func BuildPrograms(dir string, packages map[string]string, flags ...string) error {
	built, _ := os.Getenv("AGENT_PIPELINES_BUILT"), os.Getenv("AGENT_PIPELINES_BUILT_SUM")
	for out, pkg := range packages {
		to := filepath.Join(dir, out)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if built != "" && len(flags) == 0 && exec.Command("cp", filepath.Join(built, out), to).Run() == nil {
			continue
		}
		cmd := exec.Command("go", slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", to}, flags, []string{pkg})...)
		cmd.Dir = filepath.Join("..", "..")
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
		}
	}
	return nil
}

// versionIn matches the version in "2.1.329 (Claude Code)" and in "codex-cli 0.169.0".
var versionIn = regexp.MustCompile(`\d+\.\d+\.\d+\S*`)

// probe returns an error unless a binary prints the pinned version.
func (c CLI) probe(ctx context.Context, path, home string) error {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/local/bin:/usr/bin:/bin"}
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", path, err)
	}
	got := versionIn.FindString(string(out))
	if got != c.Version {
		return fmt.Errorf("%s is version %q, not %s", path, got, c.Version)
	}
	return nil
}
