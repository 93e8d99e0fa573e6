package check

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// The references to all arguments in a shell text.
const (
	argumentsRef       = "$@"
	quotedArgumentsRef = `"$@"`
)

// plainPath matches the start of a path that no program takes for an option or a special argument.
var plainPath = regexp.MustCompile(`^[\pL\pN_.]`)

// endWithoutArguments matches a text to which no argument can be appended: it ends with an operator, contains a
// comment, or has several lines.
var endWithoutArguments = regexp.MustCompile("[;&|<>(){}\\\\`]\\s*$|(?:^|\\s)#|\\n\\s*\\S")

// checkInside returns an error for files outside the project, also if a link leads there. The command itself reports
// missing files.
func checkInside(root *os.Root, files []string) error {
	for _, file := range files {
		if _, err := root.Stat(file); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return measureError("files: %w", err).WithHint("name files of the project only")
		}
	}
	return nil
}

// commandWithFiles returns the shell command that receives the files as arguments.
func commandWithFiles(name, text string, files []string) firing.Command {
	run := firing.ShellCommand(name, text)
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
