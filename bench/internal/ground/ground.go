package ground

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Ground is a directory with programs and projects. It is not safe for concurrent use.
type Ground struct {
	// Root is the Go workspace that the programs are built from.
	Root string
	// Command is the path of agent-pipelines, Plugins the directory of agent-plugin-mock and agent-plugin-agent.
	Command, Plugins string

	dir, home, temp string
}

// Prepare builds the programs of the workspace root into the existing directory dir. It needs the
// go command.
func Prepare(ctx context.Context, root, dir string) (*Ground, error) {
	bin := filepath.Join(dir, "bin")
	g := &Ground{
		Root: root, dir: dir, home: filepath.Join(dir, "home"), temp: filepath.Join(dir, "tmp"),
		Command: filepath.Join(bin, "agent-pipelines"), Plugins: filepath.Join(bin, "plugins"),
	}
	for _, d := range []string{bin, g.home, g.temp} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(g.home, ".local", "state")); err != nil { // for sessions in this process
		return nil, err
	}
	for out, pkg := range map[string]string{
		g.Command: "./cmd/agent-pipelines", filepath.Join(g.Plugins, "agent-plugin-mock"): "./plugins/mock",
		filepath.Join(g.Plugins, "agent-plugin-agent"): "./plugins/agent", bin + string(filepath.Separator): "./bench/program/...",
	} {
		if err := g.Build(ctx, out, pkg); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Program returns the path of a program in bench/program.
func (g *Ground) Program(name string) string { return filepath.Join(g.dir, "bin", name) }

// Build builds a program of the workspace, or several programs into a directory, as make build does but without a
// version.
func (g *Ground) Build(ctx context.Context, out, pkg string) error {
	c := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	c.Dir, c.Env = g.Root, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// environment returns the programs' environment, which is the same on every machine and has no user
// settings.
func (g *Ground) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "TMPDIR=" + g.temp, "TZ=UTC", "CI=true",
		"MOCK_MODE=true", // also removes the pauses between iterations
	}
}

// Dir creates a new directory.
func (g *Ground) Dir(name string) (string, error) { return os.MkdirTemp(g.dir, name+"-") }
