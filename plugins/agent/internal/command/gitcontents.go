package command

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// gitNamesOnly are the options with which git's lists of commits show no content of files.
var gitNamesOnly = newOptions("sn0123456789", "--oneline --graph --decorate --no-decorate --all --branches --tags --remotes --reverse --merges --no-merges --first-parent "+
	"--abbrev-commit --no-abbrev-commit --stat --shortstat --numstat --name-only --name-status --topo-order --date-order --author-date-order --no-patch --format "+
	"--pretty --date --since --until --after --before --author --committer --grep --max-count --skip --no-color --abbrev")

// gitUncovered are options that show content of files which no pathspec excludes, with the subcommands that know them.
// Git accepts abbreviations of them. A single letter is a short option.
var gitUncovered = []struct {
	subcommands, options string
	instead              string
}{
	{"diff log reflog show whatchanged diff-tree diff-index stash", "--full-diff --follow --submodule", "leave it out"},
	{"log reflog show whatchanged", "-L", "use git blame -L, or git log -p -- PATH"},
	{"grep", "--recurse-submodules", "leave it out"},
	{"status commit", "-v --verbose", "use git diff --cached"},
	{"rebase", "--show-current-patch", "use git diff"},
}

// limitContents sets the arguments for the run of a git command so that it shows no content of files with secrets:
// revisions become commits, whose files have names, and names of secrets are excluded. It refuses forms for which this
// is not possible.
func (c *call) limitContents(sub string) error {
	args := c.args[1:]
	if err := c.checkUncovered(sub); err != nil {
		return err
	}
	switch sub {
	case "diff", "show", "diff-tree", "diff-index":
		return c.limitDiff(sub, true)
	case "log", "reflog", "whatchanged":
		if gitNamesOnly.cover(args) || sub == "reflog" && slices.Contains([]string{"expire", "delete", "exists"}, firstOperand(args)) {
			return nil
		}
		return c.limitDiff(sub, false)
	case "blame":
		for _, arg := range args {
			if !strings.HasPrefix(arg, "-") {
				c.nameFile(joinPath(c.dir, arg))
			}
		}
	case "grep":
		return c.limitGrep()
	case "cat-file":
		return c.limitCatFile()
	case "stash":
		if action := gitAction(sub, args); action == "show" || action == "list" {
			if !gitNamesOnly.cover(args) {
				return refuse("git stash %s shows names alone; use git stash show --stat, and git diff after git stash apply", action)
			}
		}
	}
	return nil
}

// checkUncovered refuses the options of gitUncovered.
func (c *call) checkUncovered(sub string) error {
	for i, arg := range c.args[1:] {
		if c.text[i+1] {
			continue
		}
		if instead := uncovered(sub, arg); instead != "" {
			return refuse("git %s %s can show files that hold secrets; %s", sub, arg, instead)
		}
	}
	return nil
}

// uncovered returns what to use instead of an option that shows content which no pathspec excludes, "" for any other.
func uncovered(sub, arg string) string {
	name, long := longOption(arg)
	for _, form := range gitUncovered {
		if !slices.Contains(strings.Fields(form.subcommands), sub) {
			continue
		}
		for option := range strings.FieldsSeq(form.options) {
			isLong := strings.HasPrefix(option, "--")
			if isLong && long && strings.HasPrefix(option, name) || !isLong && strings.Contains(gitLetters(sub, arg), option[1:]) {
				return form.instead
			}
		}
	}
	return ""
}

// diffValues are the short options of diffs whose value may be the next argument.
var diffValues = []string{"-S", "-G", "-l", "-I", "-n"}

// smallNumber matches a number that is shorter than the shortest name of an object.
var smallNumber = regexp.MustCompile(`^[0-9]{1,3}$`)

// limitDiff limits a command that prints differences. With pins, its revisions could be other objects than commits.
// An option without effect stands before "--", since the option before it may take one more argument as its value.
func (c *call) limitDiff(sub string, pins bool) error {
	c.run = []string{sub}
	at := slices.Index(c.args, "--")
	rest := c.args[1:]
	var paths []string
	if at > 0 {
		rest, paths = c.args[1:at], c.args[at+1:]
	}
	for i, arg := range rest {
		isValue := slices.Contains(diffValues, c.args[i])
		if isValue && !smallNumber.MatchString(arg) { // the option may itself be the value of the one before it
			return refuse("write the value of %s without a space: %s%s", c.args[i], c.args[i], arg)
		}
		isOperand := !strings.HasPrefix(arg, "-") && !c.text[i+1] && !isValue
		if at < 0 && isOperand && c.isPath(arg) {
			paths = rest[i:]
			break
		}
		if isOperand && pins {
			pinned, err := c.pinRevision(arg)
			if err != nil {
				return err
			}
			arg = pinned
		}
		c.run = append(c.run, arg)
	}
	c.run = append(c.run, "--no-ext-diff")
	return c.endWithPaths(paths)
}

// isPath reports whether git reads an argument before "--" as a path.
func (c *call) isPath(arg string) bool {
	return strings.ContainsAny(arg, `*?[`) || strings.HasPrefix(arg, ":(") || strings.HasPrefix(arg, ":!") || strings.HasPrefix(arg, ":^") || c.exists(arg)
}

// endWithPaths completes the arguments for the run with paths, behind which names of secrets are excluded.
func (c *call) endWithPaths(paths []string) error {
	for _, p := range paths {
		if strings.HasPrefix(p, "-") {
			return refuse("%q is a path that looks like an option; write ./%s, and options before --", p, p)
		}
	}
	c.run = append(append(c.run, "--"), paths...)
	c.secretsAfter = true
	return nil
}

// grepValue matches an option of git grep whose value is the next argument.
var grepValue = regexp.MustCompile(`^(-[^-efABCm]*[efABCm]|--(max-depth|max-count|threads|context|after-context|before-context))$`)

// grepPattern matches an option of git grep that gives a pattern, so that the first operand is none.
var grepPattern = regexp.MustCompile(`^-[^-efABCm]*[ef]`)

// limitGrep limits git grep, whose options end at its first operand.
func (c *call) limitGrep() error {
	args, i, hasPattern := c.args, 1, false
	for ; i < len(args) && strings.HasPrefix(args[i], "-") && args[i] != "--"; i++ {
		hasPattern = hasPattern || grepPattern.MatchString(args[i])
		if grepValue.MatchString(args[i]) {
			i++
		}
	}
	i = min(i, len(args))
	if !hasPattern && i < len(args) && args[i] == "--" {
		i++
	}
	if !hasPattern {
		i++
	}
	i = min(i, len(args))
	c.run = slices.Clone(args[:i])
	for ; i < len(args) && args[i] != "--" && !c.isPath(args[i]); i++ {
		if strings.HasPrefix(args[i], "-") {
			return refuse("git grep %s: options come before the pattern", args[i])
		}
		pinned, err := c.pinRevision(args[i])
		if err != nil {
			return err
		}
		c.run = append(c.run, pinned)
	}
	if i < len(args) && args[i] == "--" {
		i++
	}
	return c.endWithPaths(args[i:])
}

// limitCatFile allows the type and size of objects, and the text of commits.
func (c *call) limitCatFile() error {
	args := c.args[1:]
	switch {
	case len(args) == 2 && slices.Contains([]string{"-t", "-s", "-e"}, args[0]):
		return nil
	case len(args) == 2 && (args[0] == "-p" || args[0] == "commit") && !strings.HasPrefix(args[1], "-") && !strings.Contains(args[1], ":"):
		pinned, err := c.pinRevision(args[1])
		c.run = []string{"cat-file", args[0], pinned}
		return err
	}
	return refuse("git cat-file shows the type (-t) and size (-s) of objects, and commits (-p); use git show COMMIT:PATH for a file")
}

// safeRevision matches revisions that are always commits.
var safeRevision = regexp.MustCompile(`^(HEAD|@)([~^][0-9]*)*$`)

// pinRevision returns a revision that can only be a commit, a range of commits, or a file of a commit by its whole path:
// a file that git finds by the id of its content, or of its directory, has no name by which it could be excluded.
func (c *call) pinRevision(arg string) (string, error) {
	for _, dots := range []string{"...", ".."} {
		if from, to, found := strings.Cut(arg, dots); found && !strings.Contains(from, ":") {
			from, err := c.pinRevision(from)
			if err != nil {
				return "", err
			}
			to, err := c.pinRevision(to)
			return from + dots + to, err
		}
	}
	if rest, negated := strings.CutPrefix(arg, "^"); negated {
		rest, err := c.pinRevision(rest)
		return "^" + rest, err
	}
	commit, file, hasFile := strings.Cut(arg, ":")
	if hasFile {
		if strings.Count(commit, "{") != strings.Count(commit, "}") { // the colon is part of a search
			return "", refuse("%q is not read here; use the id or the name of the commit", arg)
		}
		return c.pinFile(commit, file)
	}
	for _, suffix := range []string{"^@", "^!"} {
		if rest, found := strings.CutSuffix(arg, suffix); found {
			return rest + "^{commit}" + suffix, nil
		}
	}
	if arg == "" || safeRevision.MatchString(arg) {
		return arg, nil
	}
	return arg + "^{commit}", nil
}

// pinFile returns the revision of a file. Its name counts whether the file still exists or not. Without a commit, it is
// the file of the index, with its stage before another colon.
func (c *call) pinFile(commit, file string) (string, error) {
	prefix := ""
	if commit == "" && len(file) > 1 && file[1] == ':' {
		prefix, file = file[:2], file[2:]
	}
	name := file
	if strings.HasPrefix(file, "./") || strings.HasPrefix(file, "../") {
		name = joinPath(c.dir, file)
	}
	c.nameFile(name)
	pinned, err := c.pinRevision(commit)
	return pinned + ":" + prefix + file, err
}

// nameFile notes a file that the command shows, and its directories.
func (c *call) nameFile(name string) {
	for p := path.Clean(name); p != "." && p != "/"; p = path.Dir(p) {
		c.named = append(c.named, p)
	}
}

// excludeSecrets returns the pathspecs that exclude the names of secrets from git's output, at any depth.
func (r Rules) excludeSecrets() []string {
	var all []string
	for _, glob := range r.Secrets {
		all = append(all, ":(exclude,top,icase,glob)**/"+glob, ":(exclude,top,icase,glob)**/"+glob+"/**")
	}
	return all
}
