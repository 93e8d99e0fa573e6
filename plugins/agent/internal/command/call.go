package command

import (
	"path"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// family returns a program's name without a version: python for python3.12.
func family(name string) string {
	if trimmed := strings.TrimRight(name, "0123456789."); trimmed != "" {
		name = trimmed
	}
	if name == "nodejs" {
		return "node"
	}
	return name
}

// call is a command while it is judged; the judge of its program completes it.
type call struct {
	args    []string // without the program; a judge may shorten them
	dir     string
	effect  sdk.Effect
	fetches bool         // the command uses the network
	text    map[int]bool // by index: arguments that are not paths
	ws      *workspace.Dir
	// external marks a command that connects to an address of its arguments, destructive one that may lose work.
	external, destructive bool
	// covered are the pathspecs of git, or the paths, below which the command may change every file; nil for none.
	covered []string
	// run are the arguments with which the program runs, nil for args. secretsAfter is set if the names of secrets
	// are excluded behind them.
	run          []string
	secretsAfter bool
	// named are paths of the workspace that the command shows, even if they do not exist.
	named []string
}

// enterDirectory applies a directory option: it changes to dir, and removes count arguments, beginning at index from.
func (c *call) enterDirectory(from, count int, dir string) {
	if strings.HasPrefix(dir, "/") {
		if rel, inside := c.ws.Rel(path.Clean(dir)); inside {
			c.dir, dir = ".", rel
		} else {
			c.dir = "." // and dir stays absolute, which is refused
		}
	}
	if c.dir == "." {
		c.dir = dir
	} else {
		c.dir += "/" + dir
	}
	c.args = slices.Delete(slices.Clone(c.args), from, from+count)
}

// subcommand returns the first argument, which must be one of the known subcommands.
func (c *call) subcommand(program string, known []string) (string, error) {
	if len(c.args) == 0 {
		return "", refuse("%s needs a subcommand, one of: %s", program, strings.Join(known, ", "))
	}
	if !slices.Contains(known, c.args[0]) {
		return "", refuse("%s %s is not known here; the subcommand comes first, and is one of: %s", program, c.args[0], strings.Join(known, ", "))
	}
	return c.args[0], nil
}

// longOption returns the name of a long option, with both dashes and without a value after "=".
func longOption(arg string) (name string, isLong bool) {
	if !strings.HasPrefix(arg, "--") || arg == "--" {
		return "", false
	}
	name, _, _ = strings.Cut(arg, "=")
	return name, true
}

// shortLetters returns the letters of an argument with one dash, "" for any other argument.
func shortLetters(arg string) string {
	if len(arg) < 2 || arg[0] != '-' || arg[1] == '-' {
		return ""
	}
	return arg[1:]
}

// abbreviates reports whether name is one of the options or, as many programs allow, the beginning of one.
func abbreviates(name string, options []string) bool {
	return slices.ContainsFunc(options, func(full string) bool { return strings.HasPrefix(full, name) })
}
