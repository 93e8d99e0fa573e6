package sandbox

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
)

// grants are the paths to read and to write. Each list is sorted and has no path below another path of the list, except
// granted: all paths to write.
type grants struct{ read, write, granted []string }

func grant(b sandboxpolicy.Policy, p sandboxpolicy.Program) grants {
	write := existing(slices.DeleteFunc(slices.Concat(b.Write, p.Write, []string{p.Temp}), func(path string) bool { return isLinked(path, b.WorkDir) })...)
	var wanted []string
	for _, place := range Base {
		wanted = append(wanted, place.Paths...)
	}
	wanted = slices.Concat(wanted, b.Read, []string{b.WorkDir, p.Path})
	if b.Mode == sandboxpolicy.Workspace && b.Home != "" {
		for _, name := range homeFiles {
			wanted = append(wanted, filepath.Join(b.Home, name))
		}
		wanted = append(wanted, includedByGit(b.Home)...)
	}
	if p.Path != "" && p.File == nil {
		wanted = append(wanted, script(p)...)
	}
	g := grants{write: outermost(write), granted: write}
	for _, r := range outermost(existing(wanted...)) {
		if !slices.ContainsFunc(g.write, func(w string) bool { return sandboxpolicy.Within(r, w) }) {
			g.read = append(g.read, r)
		}
	}
	return g
}

// isLinked reports whether a path in the working directory leads elsewhere by a symbolic link, which an agent may have made
// to get another path.
func isLinked(path, workDir string) bool {
	rel, err := filepath.Rel(workDir, path)
	if err != nil || !filepath.IsLocal(rel) || workDir == "" {
		return false
	}
	root, _ := filepath.EvalSymlinks(workDir)
	resolved, err := filepath.EvalSymlinks(path)
	return err == nil && resolved != filepath.Join(root, rel)
}

// includedByGit returns the files that ~/.gitconfig includes, see git-config(1).
func includedByGit(home string) []string {
	text, _ := os.ReadFile(filepath.Join(home, ".gitconfig"))
	var files []string
	for line := range strings.Lines(string(text)) {
		key, path, found := strings.Cut(line, "=")
		if path = strings.Trim(strings.TrimSpace(path), `"`); !found || !strings.EqualFold(strings.TrimSpace(key), "path") {
			continue
		}
		if below, ok := strings.CutPrefix(path, "~/"); ok || !filepath.IsAbs(path) {
			path = filepath.Join(home, cmp.Or(below, path))
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files
}

// script returns the files that a script needs: the files in its directory, the interpreter that its first line names,
// and the files of the interpreter's installation.
func script(p sandboxpolicy.Program) []string {
	wanted := []string{filepath.Dir(p.Path)}
	if resolved, err := filepath.EvalSymlinks(p.Path); err == nil {
		wanted = append(wanted, filepath.Dir(resolved))
	}
	program := interpreter(p.Path, lookup(p.Env, "PATH"))
	for _, at := range existing(program) {
		wanted = append(wanted, at)
		if bin := filepath.Dir(at); filepath.Base(bin) == "bin" {
			for _, part := range []string{"bin", "lib", "lib64", "libexec", "pyvenv.cfg"} {
				wanted = append(wanted, filepath.Join(filepath.Dir(bin), part))
			}
		}
	}
	return wanted
}

// interpreter returns the program that a script's first line names, "" for none. A program that env
// would search for is searched for in path.
func interpreter(script, path string) string {
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n')
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	switch {
	case !strings.HasPrefix(line, "#!") || len(words) == 0:
		return ""
	case filepath.Base(words[0]) != "env":
		return words[0]
	}
	name := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") })
	if name < 0 {
		return ""
	}
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, words[1+name])
		if info, err := os.Stat(at); filepath.IsAbs(at) && err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// outermost leaves out paths below another path of the sorted list.
func outermost(paths []string) []string {
	var kept []string
	for _, p := range paths {
		if !slices.ContainsFunc(kept, func(k string) bool { return sandboxpolicy.Within(p, k) }) {
			kept = append(kept, p)
		}
	}
	return kept
}

func lookup(env []string, name string) (value string) {
	for _, entry := range env {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}

// pass hands a file to the process and returns the file's name in that process.
func pass(c *sandboxpolicy.Command, f *os.File) string {
	c.Files = append(c.Files, f)
	return fmt.Sprint(confine.OwnFiles, len(c.Files)+2)
}
