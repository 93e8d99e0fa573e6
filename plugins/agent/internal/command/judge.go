package command

import (
	"cmp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Judge parses the line and decides whether it may run in dir (relative to the workspace, "" for the workspace itself).
// An error is a [*RefusedError] or [*workspace.OutsideError], unless the program is not installed or a path cannot be
// inspected.
//
// The line is parsed as a shell would parse it, and must be one program with literal arguments: no operator, expansion,
// redirection, assignment or glob. The program is a bare name from a list, found on PATH outside the workspace. No
// argument may lead out of the workspace or make the program run something that was not judged. Each program of the
// default list has its own rules for this; the rules of git, go, npm and similar programs list the known subcommands.
func (r Rules) Judge(line, dir string) (Command, error) {
	words, err := SplitWords(line)
	if err != nil {
		return Command{}, err
	}
	if err := r.checkProgram(words[0]); err != nil {
		return Command{}, err
	}
	c := &call{args: words[1:], dir: cmp.Or(dir, "."), effect: sdk.EffectOnce, text: map[int]bool{}, ws: r.Workspace}
	if rule, known := judges[family(words[0])]; known {
		if err := rule(c); err != nil {
			return Command{}, err
		}
	}
	if slices.Contains(fileCommands, words[0]) {
		c.coverFiles()
	}
	if err := r.checkPath("", c.dir); err != nil {
		return Command{}, err
	}
	if c.dir, err = r.Workspace.Resolve(c.dir); err != nil {
		return Command{}, err
	}
	c.external = c.external || c.namesAddress(family(words[0]))
	if err := cmp.Or(r.checkArguments(c), r.checkNamed(c), r.checkChanges(words[0], c), r.checkCovered(c, words[0])); err != nil {
		return Command{}, err
	}
	if r.Offline && (c.fetches || c.external) {
		return Command{}, refuse("%s uses the network, and the mode of this run is airgapped", words[0])
	}
	file, err := r.findProgram(words[0])
	if err != nil {
		return Command{}, err
	}
	run := c.args
	if c.run != nil {
		run = c.run
	}
	if c.secretsAfter {
		run = append(slices.Clip(run), r.excludeSecrets()...)
	}
	return Command{
		Args: append(words[:1:1], c.args...), Run: run, Path: file, Dir: c.dir, Effect: c.effect,
		Repeatable: c.fetches || c.effect != sdk.EffectOnce, Destructive: c.destructive, External: c.external,
	}, nil
}

// checkProgram checks the program against the list, and refuses programs that are dangerous on any list.
func (r Rules) checkProgram(name string) error {
	switch {
	case strings.ContainsAny(name, `/\`):
		return refuse("the program is a path; use its name alone, one of: %s", strings.Join(r.Allowed, ", "))
	case !slices.Contains(r.Allowed, name) && (name != "python3" || !slices.Contains(r.Allowed, "python")):
		return refuse("%q is not on the list of programs; allowed are: %s", name, strings.Join(r.Allowed, ", "))
	case slices.Contains(wrappers, family(name)):
		return refuse("%s runs any other program; name that program itself", name)
	}
	return nil
}

// wrappers are programs that run their arguments as a command: allowing one of them would allow every program.
var wrappers = strings.Fields("env sudo doas su xargs nohup timeout nice ionice setsid stdbuf strace ltrace script watch busybox time " +
	"exec eval command builtin chroot unshare nsenter systemd-run flock parallel at batch ssh docker podman")

// fileCommands are programs that change the files of their arguments, and all files below a directory.
var fileCommands = strings.Fields("rm rmdir unlink shred mv chmod chown chgrp truncate")

// checkChanges refuses arguments that are protected, for a command that may change them. Git's own record of a file
// (git add, git commit) is no change.
func (r Rules) checkChanges(program string, c *call) error {
	if c.effect == sdk.EffectNone || program == "git" && len(c.args) > 0 && (c.args[0] == "add" || c.args[0] == "commit") {
		return nil
	}
	for i, arg := range c.args {
		if c.text[i] || slices.Contains(c.covered, arg) { // checkCovered inspects these
			continue
		}
		if strings.HasPrefix(arg, "-") {
			_, arg, _ = strings.Cut(arg, "=")
		}
		if name, err := r.Workspace.Resolve(c.dir + "/" + arg); arg != "" && err == nil && r.isProtected(name) {
			return refuse("%s is protected: commands may not change it", name)
		}
	}
	return nil
}

// checkNamed refuses files with secrets that the command shows, whether they exist or not.
func (r Rules) checkNamed(c *call) error {
	for _, name := range c.named {
		if r.isGuarded(name) {
			return refuse("%s holds secrets", name)
		}
	}
	return nil
}

// coverFiles notes the paths below which a command of [fileCommands] may change every file.
func (c *call) coverFiles() {
	for _, arg := range c.args {
		if !strings.HasPrefix(arg, "-") {
			c.covered = append(c.covered, arg)
			continue
		}
		_, value, _ := strings.Cut(arg, "=")
		for _, p := range append(pathCandidates(arg), value) {
			if p != "" && c.exists(p) {
				c.covered = append(c.covered, p)
			}
		}
	}
}

// judges are the judges of the known programs by family.
var judges = map[string]func(*call) error{
	"git": judgeGit, "go": judgeGo, "make": judgeMake, "gmake": judgeMake, "cargo": judgeCargo, "dotnet": judgeDotnet,
	"npm": judgeNpm, "yarn": judgeYarn, "node": judgeNode, "python": judgePython,
	"sh": judgeInterpreter("eux"), "bash": judgeInterpreter("eux"), "dash": judgeInterpreter("eux"), "zsh": judgeInterpreter("eux"), "ksh": judgeInterpreter("eux"),
	"perl": judgeInterpreter("cwtT"), "ruby": judgeInterpreter("cw"), "php": judgeInterpreter("l"), "lua": judgeInterpreter("v"),
	"pip": func(c *call) error { return c.judgePip(c.args) }, "chmod": judgeChmod,
}

// judgeInterpreter returns a judge that allows scripts, and no options but these letters: other options take code, or a
// value that this judge would mistake for the script.
func judgeInterpreter(letters string) func(*call) error {
	return func(c *call) error {
		for _, arg := range c.args {
			if !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+") {
				return nil // the script; its arguments follow
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
