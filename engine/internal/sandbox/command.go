package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// environment describes its sandbox to the program.
func environment(b sandboxpolicy.Policy, p sandboxpolicy.Program) []string {
	env := slices.DeleteFunc(slices.Clone(p.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == ModeVariable || name == tempVariable
	})
	return append(env, ModeVariable+"="+string(b.Mode), tempVariable+"="+p.Temp)
}

// withoutLoader removes the variables by which the system's loader could load libraries of an agent into a process
// that is not confined yet: LD_LIBRARY_PATH with an empty entry names the project. The program gets them back.
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

// existing are the paths that exist, each also by its real name where that is another.
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

// within reports whether path is dir or lies below it; both are clean and absolute.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
