package sandbox

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
)

// environment returns the program's environment with the variables that describe its sandbox, and further ones.
func environment(b sandboxpolicy.Policy, p sandboxpolicy.Program, further map[string]string) []string {
	set := map[string]string{confine.ModeVariable: string(b.Mode), tempVariable: p.Temp}
	if b.Tools != "" {
		set[confine.ToolsVariable] = string(b.Tools)
		set[confine.WriteVariable] = strings.Join(writableOutside(b, p), string(filepath.ListSeparator))
	}
	maps.Copy(set, further)
	env := slices.DeleteFunc(slices.Clone(p.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, replaced := set[name]
		return replaced || name == confine.ToolsVariable || name == confine.WriteVariable
	})
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}

// writableOutside returns the paths that a program may write and that neither lie in its working directory nor contain it.
func writableOutside(b sandboxpolicy.Policy, p sandboxpolicy.Program) []string {
	paths := append(slices.Clone(b.Write), p.Temp)
	if b.Mode == sandboxpolicy.Strict {
		paths = append(paths, "/tmp", "/var/tmp", "/dev/shm") // its own
	}
	return slices.DeleteFunc(existing(paths...), func(path string) bool {
		return sandboxpolicy.Within(path, b.WorkDir) || sandboxpolicy.Within(b.WorkDir, path)
	})
}

// withoutLoader removes the variables by which the system's loader could load libraries of an agent into a process that
// is not confined yet. An empty entry in LD_LIBRARY_PATH names the project. The confined program gets the variables.
func withoutLoader(env []string) (rest, loader []string) {
	for _, entry := range env {
		if strings.HasPrefix(entry, "LD_") || strings.HasPrefix(entry, "GLIBC_TUNABLES=") {
			loader = append(loader, entry)
		} else {
			rest = append(rest, entry)
		}
	}
	return rest, loader
}

// existing returns the paths that exist and their real paths, sorted, each once. An empty path does not exist.
func existing(paths ...string) []string {
	var found []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			found = append(found, p)
			if resolved, err := filepath.EvalSymlinks(p); err == nil && resolved != p {
				found = append(found, resolved)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
