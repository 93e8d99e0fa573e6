package command

import (
	"path"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// DefaultPrograms returns the allowed programs for a policy that names none (REQUIREMENTS K24).
func DefaultPrograms() []string {
	return []string{"dotnet", "npm", "yarn", "git", "make", "cargo", "go", "python", "node"}
}

// Rules decide which commands may run. They are not modified by use and are safe for concurrent use.
type Rules struct {
	// Workspace is the directory of the commands and of their arguments.
	Workspace *workspace.Dir
	// Allowed are names of programs; nil is [DefaultPrograms], empty allows none.
	Allowed []string
	// Path is the value of PATH on which programs are looked up, see [SearchPath].
	Path string
	// Offline refuses commands that are known to use the network.
	Offline bool
	// Guarded reports whether a path relative to the workspace holds secrets: no argument may name an existing one. May be
	// nil.
	Guarded func(path string) bool
}

// Command is a command that may run.
type Command struct {
	// Args are the program's name and its arguments.
	Args []string
	// Path is the executable, absolute and outside the workspace.
	Path string
	// Dir is its working directory, relative to the workspace, without links.
	Dir string
	// Effect is the kind of side effect, which decides whether the command may be repeated after a crash.
	Effect sdk.Effect
	// Changes are the arguments that the command may change, as paths relative to the workspace. They are empty for a
	// command that changes no files, or only records them (git add, git commit).
	Changes []string
	// Repeatable: the command may run again after a temporary failure, because a repeat does no harm.
	Repeatable bool
}

// Line returns the command in its canonical form for policies: quotes and spaces of the model cannot hide anything in it.
func (c Command) Line() string { return JoinWords(c.Args) }

// Judge parses the line and decides whether it may run in dir (relative to the workspace, "" for the workspace itself).
// Errors are [*RefusedError] and [*workspace.OutsideError], and [*MissingError] for a program that is not installed.
func (r Rules) Judge(line, dir string) (Command, error) {
	words, err := SplitWords(line)
	if err != nil {
		return Command{}, err
	}
	if err := r.checkProgram(words[0]); err != nil {
		return Command{}, err
	}
	if dir == "" {
		dir = "."
	}
	c := &call{args: words[1:], dir: dir, effect: sdk.EffectOnce, text: map[int]bool{}, ws: r.Workspace}
	if rule, known := judges[family(words[0])]; known {
		if err := rule(c); err != nil {
			return Command{}, err
		}
	}
	if err := r.checkPath("", c.dir); err != nil {
		return Command{}, err
	}
	if c.dir, err = r.Workspace.Resolve(c.dir); err != nil {
		return Command{}, err
	}
	if err := r.checkArguments(c); err != nil {
		return Command{}, err
	}
	if r.Offline && c.fetches {
		return Command{}, refuse("%s uses the network, and the mode of this run is airgapped", words[0])
	}
	file, err := r.findProgram(words[0])
	if err != nil {
		return Command{}, err
	}
	return Command{
		Args: append(words[:1:1], c.args...), Path: file, Dir: c.dir, Effect: c.effect, Changes: r.changedPaths(words[0], c),
		Repeatable: c.fetches || c.repeatable || c.effect != sdk.EffectOnce,
	}, nil
}

// checkProgram checks the program against the list, and refuses programs that are dangerous on any list.
func (r Rules) checkProgram(name string) error {
	allowed := r.Allowed
	if allowed == nil {
		allowed = DefaultPrograms()
	}
	switch {
	case strings.ContainsAny(name, `/\`):
		return refuse("the program is a path; use its name alone, one of: %s", strings.Join(allowed, ", "))
	case !slices.Contains(allowed, name):
		return refuse("%q is not on the list of programs; allowed are: %s", name, strings.Join(allowed, ", "))
	case slices.Contains(wrappers, family(name)):
		return refuse("%s runs any other program; name that program itself", name)
	}
	return nil
}

// wrappers are programs that run their arguments as a command: allowing one of them would allow every program.
var wrappers = strings.Fields("env sudo doas su xargs nohup timeout nice ionice setsid stdbuf strace ltrace script watch busybox time " +
	"exec eval command builtin chroot unshare nsenter systemd-run flock parallel at batch ssh docker podman")

// checkArguments checks every argument that is not known to be plain text.
func (r Rules) checkArguments(c *call) error {
	for i, arg := range c.args {
		if c.text[i] {
			continue
		}
		if err := r.checkArgument(c.dir, arg); err != nil {
			return err
		}
	}
	return nil
}

// changedPaths returns the arguments that a command may change.
func (r Rules) changedPaths(program string, c *call) []string {
	if c.effect == sdk.EffectNone || program == "git" && len(c.args) > 0 && (c.args[0] == "add" || c.args[0] == "commit") {
		return nil
	}
	var all []string
	for i, arg := range c.args {
		if c.text[i] {
			continue
		}
		if strings.HasPrefix(arg, "-") {
			_, arg, _ = strings.Cut(arg, "=")
		}
		if name, err := r.Workspace.Resolve(c.dir + "/" + arg); arg != "" && err == nil {
			all = append(all, name)
		}
	}
	return all
}

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
	args       []string // without the program; a judge may shorten them
	dir        string
	effect     sdk.Effect
	fetches    bool         // it uses the network
	repeatable bool         // see Command
	text       map[int]bool // by index: arguments that are not paths
	ws         *workspace.Dir
}

// judges are the judges of the known programs by family.
var judges = map[string]func(*call) error{
	"git": judgeGit, "go": judgeGo, "make": judgeMake, "gmake": judgeMake, "cargo": judgeCargo, "dotnet": judgeDotnet,
	"npm": judgeNpm, "yarn": judgeYarn, "node": judgeNode, "python": judgePython,
	"sh": judgeInterpreter("eux"), "bash": judgeInterpreter("eux"), "dash": judgeInterpreter("eux"), "zsh": judgeInterpreter("eux"), "ksh": judgeInterpreter("eux"),
	"perl": judgeInterpreter("cwtT"), "ruby": judgeInterpreter("cw"), "php": judgeInterpreter("l"), "lua": judgeInterpreter("v"),
	"pip": func(c *call) error { return c.judgePip(c.args) }, "chmod": judgeChmod,
}

// enterDirectory applies a directory option: it changes to dir, and removes the count arguments from index from on.
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

// judgeInterpreter returns a judge that allows scripts, and no options but these letters: other options take code, or a
// value that this judge would mistake for the script.
func judgeInterpreter(letters string) func(*call) error {
	return func(c *call) error {
		for _, arg := range c.args {
			if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
				return nil // the script; the rest belongs to it
			}
			if strings.Trim(shortLetters(arg), letters) != "" || shortLetters(arg) == "" {
				return refuse("%s passes code as an argument, or is not known; write code to a file and run the file", arg)
			}
		}
		return nil
	}
}

func judgeChmod(c *call) error {
	for _, arg := range c.args {
		if strings.HasSuffix(arg, "777") {
			return refuse("chmod %s lets all users write", arg)
		}
	}
	return nil
}
