package command

import (
	"io/fs"
	"slices"
	"strings"
)

// options are known options: the letters of short options, which may stand together, and long options in full.
// An abbreviation, an unknown option and a value behind a letter are not known.
type options struct {
	letters string
	long    []string
}

func newOptions(letters, long string) options { return options{letters, strings.Fields(long)} }

// cover reports whether every argument with a dash is known, also behind "--", which may be the value of an option.
func (o options) cover(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool {
		if arg == "--" || arg == "-" || !strings.HasPrefix(arg, "-") {
			return false
		}
		if name, long := longOption(arg); long {
			return !slices.Contains(o.long, name)
		}
		return strings.Trim(shortLetters(arg), o.letters) != ""
	})
}

// gitHarmless are the options by subcommand with which nothing is lost that git cannot restore. With any other option
// a user decides. A subcommand without an entry loses nothing.
var gitHarmless = map[string]options{
	"branch": newOptions("arlvqdmctiu", "--all --remotes --list --verbose --quiet --delete --move --copy --track --no-track --ignore-case --show-current --contains "+
		"--no-contains --merged --no-merged --points-at --sort --format --column --no-column --abbrev --no-abbrev --color --no-color --set-upstream-to --unset-upstream"),
	"checkout": newOptions("bqtd", "--quiet --track --no-track --detach --progress --no-progress --guess --no-guess"),
	"clean":    newOptions("ndxXqf", "--dry-run --quiet --force"),
	"mv":       newOptions("knv", "--dry-run --verbose"),
	"push": newOptions("uvqn46", "--set-upstream --verbose --quiet --dry-run --tags --follow-tags --all --porcelain --progress --no-progress --atomic --no-atomic "+
		"--thin --no-thin --verify --no-verify"),
	"remote":  newOptions("vtmn", "--verbose --tags --no-tags --push --all --add --dry-run"),
	"reset":   newOptions("qN", "--soft --mixed --quiet --no-quiet --intent-to-add --refresh --no-refresh"),
	"restore": newOptions("Sq", "--staged --quiet --source"),
	"rm":      newOptions("rqn", "--cached --dry-run --quiet --ignore-unmatch"),
	"stash":   newOptions("qkmS", "--quiet --keep-index --no-keep-index --message --staged --index --stat --name-only --name-status --oneline"),
	"switch":  newOptions("cqtd", "--create --quiet --track --no-track --detach --progress --no-progress --guess --no-guess"),
	"tag": newOptions("amFlni0123456789", "--annotate --message --file --list --ignore-case --sort --format --contains --no-contains --merged --no-merged --points-at "+
		"--column --no-column --color --no-color"),
	"worktree": newOptions("bdqvn", "--detach --checkout --no-checkout --quiet --track --no-track --guess-remote --no-guess-remote --porcelain --lock --reason --verbose --dry-run"),
}

// gitHarmlessActions are the actions of subcommands that lose nothing; "" is no action.
var gitHarmlessActions = map[string][]string{
	"remote":   {"", "add", "get-url", "prune", "rename", "set-url", "show", "update"},
	"stash":    {"", "apply", "list", "pop", "push", "save", "show"},
	"worktree": {"", "add", "list", "lock", "prune", "unlock"},
}

// losesWork reports whether a git command may lose changes, files, commits or references.
func (c *call) losesWork(sub string) bool {
	args := c.args[1:]
	if known, limited := gitHarmless[sub]; limited && !known.cover(args) {
		return true
	}
	if actions, limited := gitHarmlessActions[sub]; limited && !slices.Contains(actions, gitAction(sub, args)) {
		return true
	}
	hasOption := func(letter, long string) bool { // behind "--" it would be a path
		before := args[:max(0, slices.Index(append(slices.Clip(args), "--"), "--"))]
		return slices.ContainsFunc(before, func(arg string) bool { return strings.Contains(shortLetters(arg), letter) || arg == long })
	}
	switch sub {
	case "checkout":
		return !hasOption("b", "-b") && c.checksOutFiles(args)
	case "clean":
		return !hasOption("n", "--dry-run")
	case "restore":
		return !hasOption("S", "--staged")
	case "rebase", "merge", "cherry-pick", "revert", "am":
		return slices.ContainsFunc(args, func(arg string) bool {
			name, long := longOption(arg)
			return long && abbreviates(name, []string{"--abort", "--skip", "--quit"})
		})
	case "reflog":
		return slices.Contains(args, "expire") || slices.Contains(args, "delete")
	case "push":
		return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, ":") })
	case "fetch", "pull":
		return slices.ContainsFunc(args, func(arg string) bool {
			name, long := longOption(arg)
			return strings.HasPrefix(arg, "+") || strings.Contains(shortLetters(arg), "f") || long && abbreviates(name, []string{"--force"})
		})
	}
	return false
}

// gitAction returns the action of a subcommand that has actions: stash takes it from the first argument alone.
func gitAction(sub string, args []string) string {
	if sub == "stash" && len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return ""
	}
	return firstOperand(args)
}

// checksOutFiles reports whether a checkout may replace files: it names more than one branch, or a file.
func (c *call) checksOutFiles(args []string) bool {
	operands := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "-") && arg != "-" && arg != "--" })
	switch {
	case len(operands) == 2 && operands[1] == "--": // the first is a branch
		return false
	case len(operands) > 1:
		return true
	case len(operands) == 1:
		return isPattern(operands[0]) || strings.Contains(operands[0], ":") || c.exists(operands[0])
	}
	return false
}

// isPattern reports whether git may read an argument as a pattern of several paths.
func isPattern(arg string) bool {
	return strings.HasPrefix(arg, ":") || strings.ContainsAny(arg, `*?[\`)
}

// exists reports whether the directory of the command has an entry of this name.
func (c *call) exists(name string) bool {
	_, err := c.ws.Root().Lstat(joinPath(c.dir, name))
	return err == nil
}

// wholeTree is git's pattern of all files.
const wholeTree = ":/"

// markCovered notes the paths below which a git command may change every file.
func (c *call) markCovered(sub string) {
	args, action := c.args[1:], ""
	switch sub {
	case "rm", "mv":
	case "checkout", "restore", "clean":
		if !c.destructive {
			return
		}
	case "stash":
		if action = gitAction(sub, args); action != "" && action != "push" && action != "save" {
			return
		}
	default:
		return
	}
	for i, arg := range args {
		if !c.text[i+1] && !strings.HasPrefix(arg, "-") && (i > 0 || arg != action) {
			c.covered = append(c.covered, arg)
		}
	}
	switch {
	case action == "save", sub == "stash" && len(c.covered) == 0:
		c.covered = []string{wholeTree}
	case sub == "clean" && len(c.covered) == 0:
		c.covered = []string{"."}
	}
}

// maxCovered limits the entries of a directory that one command may cover.
const maxCovered = 100_000

// checkCovered refuses a command that may change a protected file: one of the paths, or a file below it. The paths of
// git may be patterns; git itself does not touch a directory .git.
func (r Rules) checkCovered(c *call, program string) error {
	for _, arg := range c.covered {
		dir, entry := c.dir, arg
		if isPattern(arg) && program == "git" {
			entry = arg[:strings.IndexAny(arg, `:*?[\`)]
			entry = entry[:strings.LastIndex(entry, "/")+1]
			if strings.HasPrefix(arg, ":") {
				dir = "."
			}
		}
		for _, resolve := range []func(string) (string, error){r.Workspace.Resolve, r.Workspace.ResolveEntry} {
			resolved, err := resolve(joinPath(dir, entry))
			if err == nil {
				err = r.checkTree(arg, resolved, program == "git")
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTree refuses a file or directory that is protected, or contains something protected. arg is its spelling.
func (r Rules) checkTree(arg, top string, byGit bool) error {
	n := 0
	if arg == wholeTree {
		arg = "the whole tree"
	}
	return fs.WalkDir(r.Workspace.Root().FS(), top, func(name string, d fs.DirEntry, err error) error {
		if n++; n > maxCovered {
			return refuse("%s has more than %d files, too many to inspect; name a smaller directory", arg, maxCovered)
		}
		isGit := strings.EqualFold(name[strings.LastIndex(name, "/")+1:], ".git")
		missing := err != nil && name == top
		switch {
		case isGit && byGit && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil && !missing:
			return refuse("%s contains %s, which cannot be read: %v", arg, name, err)
		case isGit && !byGit, name != "." && r.isGuarded(name), r.isProtected(name):
			if name == top {
				return refuse("%s is protected: commands may not change it", name)
			}
			return refuse("%s contains %s, which is protected: name the files that should change", arg, name)
		}
		return nil
	})
}

func (r Rules) isGuarded(name string) bool   { return r.Guarded != nil && r.Guarded(name) }
func (r Rules) isProtected(name string) bool { return r.Protected != nil && r.Protected(name) }

// joinPath returns a path of the workspace for a name in a directory of the workspace.
func joinPath(dir, name string) string {
	if name == "" {
		return dir
	}
	return dir + "/" + name
}
