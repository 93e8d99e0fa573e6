package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Program is what is to run in a box.
type Program struct {
	// Path is its file, and argument 0.
	Path string
	// File is the file, opened: it is what is executed, whatever Path names by then. Nil for a script, whose
	// interpreter opens it again by its path. It is only borrowed.
	File *os.File
	// Args are the arguments after argument 0.
	Args []string
	// Env is the environment.
	Env []string
	// Temp is a directory of the process's own for temporary files.
	Temp string
	// Write are further directories of its own.
	Write []string
}

// Command is what is started in the place of a [Program].
type Command struct {
	// Name is the file to execute, Args are all its arguments.
	Name string
	Args []string
	Env  []string
	// Files are the process's descriptors from 3 on.
	Files []*os.File

	own   []*os.File // of Files, opened here
	fence *fence
}

// Started closes what the process has taken over by its start, or never will.
func (c *Command) Started() {
	for _, f := range c.own {
		_ = f.Close()
	}
}

// End ends what is left of the process after its end and removes what was made for it. It is called once,
// also where nothing was started.
func (c *Command) End() {
	if c.fence != nil {
		c.fence.remove()
	}
}

// Bare starts the program without a box.
func Bare(p Program) *Command {
	c := &Command{Name: p.Path, Args: append([]string{p.Path}, p.Args...), Env: p.Env}
	if p.File != nil {
		c.Name, c.Files = "/proc/self/fd/3", []*os.File{p.File}
	}
	return c
}

// environment tells the program of its box.
func environment(b Box, p Program) []string {
	env := slices.DeleteFunc(slices.Clone(p.Env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == ModeVariable || name == tempVariable
	})
	return append(env, ModeVariable+"="+string(b.Mode), tempVariable+"="+p.Temp)
}

// withoutLoader takes out of an environment what makes the system's loader, in a process that is not confined
// yet, take libraries from where an agent may have put them: LD_LIBRARY_PATH with an empty entry names the
// project. The program gets it back.
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
