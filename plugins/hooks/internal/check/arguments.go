package check

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// A shell's text has all its arguments at "$@", each as it is.
const (
	argumentsRef       = "$@"
	quotedArgumentsRef = `"$@"`
)

// plainPath is how a path begins that no program takes for an option or for anything else but a path.
var plainPath = regexp.MustCompile(`^[\pL\pN_.]`)

// endWithoutArguments finds a text at whose end an argument would be none: behind an operator, a comment, or in another line.
var endWithoutArguments = regexp.MustCompile("[;&|<>(){}\\\\`]\\s*$|(?:^|\\s)#|\\n\\s*\\S")

// checkFiles checks the paths, which may come from what an agent wrote, and that the command has a place for them.
func (c *Config) checkFiles() error {
	if c.Files == nil {
		return nil
	}
	if len(c.Files) == 0 {
		return invalid("files names nothing")
	}
	for _, file := range c.Files {
		switch {
		case strings.ContainsFunc(file, unicode.IsControl) || strings.ContainsRune(file, unicode.ReplacementChar):
			return invalid("files: %.200q is no path", file)
		case !filepath.IsLocal(filepath.FromSlash(file)):
			return invalid("files: %.200q leads out of the project", file).WithHint("write it from the project's directory on")
		}
	}
	if !strings.Contains(c.Command, argumentsRef) && !c.takesPackages() && endWithoutArguments.MatchString(c.Command) {
		return invalid("files: nothing can be added at the end of the command").WithHint(`write "$@" where the files belong`)
	}
	return nil
}

// checkInside complains about files that lie outside the project, wherever links lead. Those that are not there are the
// command's affair: it says so.
func checkInside(workDir string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(workDir)
	if err != nil {
		return measureError("open the project: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, file := range files {
		if _, err := root.Stat(file); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return measureError("files: %w", err).WithHint("a check sees the files of the project only")
		}
	}
	return nil
}

// commandWithFiles is a command that the shell runs with files as arguments.
func commandWithFiles(who, text string, files []string) firing.Command {
	run := firing.ShellCommand(who, text)
	if len(files) == 0 {
		return run
	}
	if !strings.Contains(text, argumentsRef) {
		run.Args[1] = strings.TrimSpace(text) + " " + quotedArgumentsRef
	}
	run.Args = append(run.Args, path.Base(firing.Shell))
	for _, file := range files {
		if !plainPath.MatchString(file) {
			file = "./" + file
		}
		run.Args = append(run.Args, file)
	}
	return run
}
