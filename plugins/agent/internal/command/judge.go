package command

import (
	"path"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/workspace"
)

// Default is the list of programs where a policy names none (REQUIREMENTS K24).
func Default() []string {
	return []string{"dotnet", "npm", "yarn", "git", "make", "cargo", "go", "python", "node"}
}

// Rules say what may be run. They are not changed by use and safe for concurrent use.
type Rules struct {
	// Workspace is where commands run and what they may name.
	Workspace *workspace.Dir
	// Allowed are names of programs; nil is [Default], empty allows none.
	Allowed []string
	// Path is the value of PATH on which programs are looked up, see [SearchPath].
	Path string
	// Offline refuses what is known to fetch from the network.
	Offline bool
	// Guarded reports whether a path relative to the workspace holds secrets: no argument may name one that exists. May
	// be nil.
	Guarded func(path string) bool
}

// Command is a line that may be run.
type Command struct {
	// Args are the program's name and its arguments.
	Args []string
	// Path is the executable, absolute and outside the workspace.
	Path string
	// Dir is where it runs, relative to the workspace, without links.
	Dir string
	// Effect says what a crash in the middle of it means.
	Effect sdk.Effect
	// Changes are the arguments that it may change, as paths relative to the workspace: none where it changes nothing, or
	// only records what there is (git add, git commit).
	Changes []string
	// Repeatable: it may be run again after a passing failure, since it either did nothing or does no harm twice.
	Repeatable bool
}

// Line is the command in its one form, by which policies should judge it: the model's quotes and spaces cannot hide
// anything in it.
func (c Command) Line() string { return Line(c.Args) }

// Judge reads the line and decides whether it may run in dir (relative to the workspace, "" for the workspace itself).
// Errors are [*RefusedError] and [*workspace.OutsideError], and [*MissingError] for a program that is not installed.
func (r Rules) Judge(line, dir string) (Command, error) {
	words, err := Words(line)
	if err != nil {
		return Command{}, err
	}
	if err := r.allows(words[0]); err != nil {
		return Command{}, err
	}
	if dir == "" {
		dir = "."
	}
	c := &call{args: words[1:], dir: dir, effect: sdk.EffectOnce, text: map[int]bool{}, ws: r.Workspace}
	if rule, known := programs[family(words[0])]; known {
		if err := rule(c); err != nil {
			return Command{}, err
		}
	}
	if err := r.place("", c.dir); err != nil {
		return Command{}, err
	}
	if c.dir, err = r.Workspace.Resolve(c.dir); err != nil {
		return Command{}, err
	}
	if err := r.inside(c); err != nil {
		return Command{}, err
	}
	if r.Offline && c.fetches {
		return Command{}, refuse("%s reaches the network, and the mode of this run is airgapped", words[0])
	}
	file, err := r.find(words[0])
	if err != nil {
		return Command{}, err
	}
	return Command{
		Args: append(words[:1:1], c.args...), Path: file, Dir: c.dir, Effect: c.effect, Changes: r.changes(words[0], c),
		Repeatable: c.fetches || c.repeatable || c.effect != sdk.EffectOnce,
	}, nil
}

// allows checks the program against the list, and against what no list makes harmless.
func (r Rules) allows(name string) error {
	allowed := r.Allowed
	if allowed == nil {
		allowed = Default()
	}
	switch {
	case strings.ContainsAny(name, `/\`):
		return refuse("the program is given by a path; give its name alone, one of: %s", strings.Join(allowed, ", "))
	case !slices.Contains(allowed, name):
		return refuse("%q is not on the list of programs; allowed are: %s", name, strings.Join(allowed, ", "))
	case slices.Contains(wrappers, family(name)):
		return refuse("%s runs any other program; name that program itself", name)
	}
	return nil
}

// wrappers are programs whose arguments are a command of their own: with one of them on the list there would be no list.
var wrappers = strings.Fields("env sudo doas su xargs nohup timeout nice ionice setsid stdbuf strace ltrace script watch busybox time " +
	"exec eval command builtin chroot unshare nsenter systemd-run flock parallel at batch ssh docker podman")

// inside checks every argument that is not known to be mere text.
func (r Rules) inside(c *call) error {
	for i, arg := range c.args {
		if c.text[i] {
			continue
		}
		if err := r.argument(c.dir, arg); err != nil {
			return err
		}
	}
	return nil
}

// changes are the arguments that a command may change.
func (r Rules) changes(program string, c *call) []string {
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

// family is a program's name without the version that some have: python3.12 is python.
func family(name string) string {
	if trimmed := strings.TrimRight(name, "0123456789."); trimmed != "" {
		name = trimmed
	}
	if name == "nodejs" {
		return "node"
	}
	return name
}

// call is a command while it is judged; the rule of its program fills it in.
type call struct {
	args       []string // without the program; a rule may shorten them
	dir        string
	effect     sdk.Effect
	fetches    bool         // it reaches the network
	repeatable bool         // see Command
	text       map[int]bool // by index: arguments that are no paths
	ws         *workspace.Dir
}

// programs are the tables of the programs that we know, by family.
var programs = map[string]func(*call) error{
	"git": git, "go": golang, "make": makefile, "gmake": makefile, "cargo": cargo, "dotnet": dotnet,
	"npm": npm, "yarn": yarn, "node": node, "python": python,
	"sh": interpreter("eux"), "bash": interpreter("eux"), "dash": interpreter("eux"), "zsh": interpreter("eux"), "ksh": interpreter("eux"),
	"perl": interpreter("cwtT"), "ruby": interpreter("cw"), "php": interpreter("l"), "lua": interpreter("v"),
	"pip": func(c *call) error { return c.pip(c.args) }, "chmod": chmod,
}

// enter changes the directory as an option does that takes so many arguments from one on, and takes it out.
func (c *call) enter(from, count int, dir string) {
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

// subcommand is the first argument, which has to be one of the known.
func (c *call) subcommand(program string, known []string) (string, error) {
	if len(c.args) == 0 {
		return "", refuse("%s needs a subcommand, one of: %s", program, strings.Join(known, ", "))
	}
	if !slices.Contains(known, c.args[0]) {
		return "", refuse("%s %s is not known here; the subcommand comes first, and is one of: %s", program, c.args[0], strings.Join(known, ", "))
	}
	return c.args[0], nil
}

// option is the name of a long option, with both dashes and without a value after "=".
func option(arg string) (name string, isLong bool) {
	if !strings.HasPrefix(arg, "--") || arg == "--" {
		return "", false
	}
	name, _, _ = strings.Cut(arg, "=")
	return name, true
}

// short are the letters of an argument with one dash, "" for any other.
func short(arg string) string {
	if len(arg) < 2 || arg[0] != '-' || arg[1] == '-' {
		return ""
	}
	return arg[1:]
}

// shortens reports whether name is one of the options or, as many programs allow, the beginning of one.
func shortens(name string, options []string) bool {
	return slices.ContainsFunc(options, func(full string) bool { return strings.HasPrefix(full, name) })
}

// interpreter lets a script be run, and refuses every option but these letters: others take code, or a value that would
// be taken for the script here.
func interpreter(letters string) func(*call) error {
	return func(c *call) error {
		for _, arg := range c.args {
			if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
				return nil // the script; what follows is its own
			}
			if strings.Trim(short(arg), letters) != "" || short(arg) == "" {
				return refuse("%s is code as an argument, or not known here; write code to a file and run that", arg)
			}
		}
		return nil
	}
}

func chmod(c *call) error {
	for _, arg := range c.args {
		if strings.HasSuffix(arg, "777") {
			return refuse("chmod %s lets everybody write", arg)
		}
	}
	return nil
}
