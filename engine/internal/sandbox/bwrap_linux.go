package sandbox

import (
	"cmp"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// findBwrap returns the path of bubblewrap, if it belongs to root and no other user can change it.
func findBwrap(dirs []string) (string, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, "bwrap")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		resolved, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		for _, p := range []string{resolved, filepath.Dir(resolved)} {
			if err := rootsOwn(p); err != nil {
				return "", failure.New(failure.SandboxUnavailable, "sandbox strict cannot trust %s: %w", path, err).
					WithHint("install bubblewrap from the system's packages")
			}
		}
		return resolved, nil
	}
	return "", failure.New(failure.SandboxUnavailable, "sandbox strict needs bubblewrap, which is not installed").
		WithHint("install it (apt install bubblewrap, dnf install bubblewrap), or set sandbox: workspace")
}

// bubblewrap returns the version of bubblewrap.
func (s *Sandbox) bubblewrap(ctx context.Context) (string, error) {
	path, err := findBwrap(s.systemDirs)
	if err != nil {
		return "", err
	}
	ask := exec.CommandContext(ctx, path, "--version")
	ask.Env, ask.Dir = []string{}, "/"
	out, err := ask.Output()
	if err != nil {
		return "", failure.New(failure.SandboxUnavailable, "sandbox strict: %s --version: %w", path, err).
			WithHint("install bubblewrap again")
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "bubblewrap")), nil
}

// wrapBwrap makes the command start the process under bubblewrap.
func (s *Sandbox) wrapBwrap(ctx context.Context, b sandboxpolicy.Policy, g grants, c *sandboxpolicy.Command) error {
	path, err := findBwrap(s.systemDirs)
	if err != nil {
		return err
	}
	guarded, err := protect(ctx, g.granted)
	if err != nil {
		return err
	}
	helper, err := os.Open(s.helper[0])
	if err != nil {
		return failure.New(failure.SandboxUnavailable, "sandbox strict: %w", err).WithHint("check that the program is still installed")
	}
	c.OpenFiles = append(c.OpenFiles, helper)
	inside := pass(c, helper)
	c.Name = path
	c.Args = append([]string{"bwrap"}, namespaces(b)...)
	c.Args = append(c.Args, mounts(b, g, guarded)...)
	c.Args = append(c.Args, "--chdir", cmp.Or(b.WorkDir, "/"), "--", inside)
	c.Args = append(c.Args, s.helper[1:]...)
	return nil
}

// namespaces returns bubblewrap's arguments for namespaces and capabilities. Root gets no user namespace, because there
// root could not work in other users' directories.
func namespaces(b sandboxpolicy.Policy) []string {
	args := []string{
		"--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
	}
	var capabilities []string
	if os.Geteuid() != 0 {
		args = append(args, "--unshare-user")
	} else {
		capabilities = append([]string{"CAP_SETPCAP"}, confine.KeptCapabilities...) // CAP_SETPCAP is needed to drop all others for good
	}
	if b.Tools == sandboxpolicy.Loopback {
		capabilities = append(capabilities, confine.ToolCapabilityNames...)
	}
	for _, name := range capabilities {
		args = append(args, "--cap-add", name)
	}
	if b.Network != sandboxpolicy.On {
		args = append(args, "--unshare-net")
	}
	return args
}

// mounts returns bubblewrap's arguments for the mounts that the process sees: parents before their children.
func mounts(b sandboxpolicy.Policy, g grants, guarded *guard) []string {
	at := map[string][]string{}
	for _, private := range []struct{ path, mode string }{{"/tmp", "1777"}, {"/var/tmp", "1777"}, {b.Home, "0700"}} {
		inside := func(dir string) bool { return sandboxpolicy.Within(private.path, dir) }
		if private.path != "" && private.path != "/" && !slices.ContainsFunc(g.read, inside) && !slices.ContainsFunc(g.write, inside) {
			at[private.path] = []string{"--perms", private.mode, "--tmpfs", private.path}
		}
	}
	for _, p := range g.read {
		if p != "/proc" {
			at[p] = []string{"--ro-bind", p, p}
		}
	}
	for _, p := range g.write {
		at[p] = []string{"--bind", p, p}
		maps.Copy(at, guarded.mounts(p))
	}
	// Otherwise root could write below /proc/sys, where settings apply to the whole system.
	args := []string{"--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"}
	for _, p := range slices.Sorted(maps.Keys(at)) {
		args = append(args, at[p]...)
	}
	return args
}
