package command

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// gitKind classifies a subcommand of git.
type gitKind int

const (
	gitReads  gitKind = iota // nothing changes
	gitWrites                // the repository or its files change
	gitRemote                // the command connects to another machine
)

// gitSubcommands are the subcommands that run nothing but git. An unlisted subcommand could be an alias of the
// repository for any command; a listed subcommand cannot be an alias.
var gitSubcommands = map[string]gitKind{
	"status": gitReads, "diff": gitReads, "log": gitReads, "show": gitReads, "blame": gitReads, "ls-files": gitReads, "ls-tree": gitReads,
	"rev-parse": gitReads, "rev-list": gitReads, "describe": gitReads, "shortlog": gitReads, "cat-file": gitReads, "grep": gitReads,
	"merge-base": gitReads, "for-each-ref": gitReads, "show-ref": gitReads, "check-ignore": gitReads, "version": gitReads, "config": gitReads,
	"diff-tree": gitReads, "diff-index": gitReads, "name-rev": gitReads, "count-objects": gitReads, "whatchanged": gitReads,

	"add": gitWrites, "branch": gitWrites, "checkout": gitWrites, "cherry-pick": gitWrites, "clean": gitWrites, "commit": gitWrites,
	"init": gitWrites, "merge": gitWrites, "mv": gitWrites, "rebase": gitWrites, "reflog": gitWrites, "remote": gitWrites, "reset": gitWrites,
	"restore": gitWrites, "revert": gitWrites, "rm": gitWrites, "stash": gitWrites, "switch": gitWrites, "tag": gitWrites, "worktree": gitWrites,

	"clone": gitRemote, "fetch": gitRemote, "ls-remote": gitRemote, "pull": gitRemote, "push": gitRemote,
}

// gitUnsafeOptions are options that name a program, or change the programs that git runs. Git accepts abbreviations of them.
var gitUnsafeOptions = []string{
	"--config", "--config-env", "--exec", "--exec-path", "--ext-diff", "--extcmd", "--filters", "--git-dir", "--no-index",
	"--open-files-in-pager", "--output", "--paginate", "--receive-pack", "--separate-git-dir", "--strategy", "--template", "--textconv", "--upload-pack",
	"--work-tree",
}

// gitSafeOptions are options that only look like abbreviations of unsafe options.
var gitSafeOptions = []string{"--text", "--filter"}

// gitUnsafeLetters are the unsafe short options by subcommand, at any position in a cluster.
var gitUnsafeLetters = map[string]string{"grep": "O", "rebase": "xs", "clone": "cu", "merge": "s", "pull": "s", "push": "f"}

// judgeGit judges a git command. It removes options before the subcommand, so that policies see the subcommand first.
// The directory of -C becomes the command's directory; the environment disables the pager.
func judgeGit(c *call) error {
	for len(c.args) > 0 && (c.args[0] == "--no-pager" || c.args[0] == "-P" || c.args[0] == "-C" && len(c.args) > 1) {
		if c.args[0] == "-C" {
			c.enterDirectory(0, 2, c.args[1])
		} else {
			c.args = c.args[1:]
		}
	}
	if len(c.args) > 0 && c.args[0] == "--version" {
		c.effect = sdk.EffectNone
		return nil
	}
	if len(c.args) > 0 && c.args[0] == "archive" {
		return refuse("git archive holds the files with secrets, too; use git show COMMIT:PATH for a file")
	}
	sub, err := c.subcommand("git", slices.Sorted(maps.Keys(gitSubcommands)))
	if err != nil {
		return err
	}
	switch gitSubcommands[sub] {
	case gitReads:
		c.effect = sdk.EffectNone
	case gitRemote:
		c.fetches, c.external = true, true
	case gitWrites:
		c.external = sub == "remote" && !slices.Contains([]string{"", "get-url", "rename", "remove", "rm"}, firstOperand(c.args[1:]))
		c.fetches = c.external
	}
	c.markGitTexts(sub)
	if err := cmp.Or(checkGitArguments(sub, c.args[1:]), c.checkGitConfig(sub)); err != nil {
		return err
	}
	c.destructive = c.losesWork(sub)
	c.markCovered(sub)
	return c.limitContents(sub)
}

// firstOperand returns the first argument that is not an option, "" for none.
func firstOperand(args []string) string {
	i := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if i < 0 {
		return ""
	}
	return args[i]
}

func checkGitArguments(sub string, args []string) error {
	action := gitAction(sub, args)
	for _, arg := range args {
		if err := checkGitArgument(sub, arg); err != nil {
			return err
		}
		if err := checkGitQuestion(sub, arg); err != nil && (sub != "stash" || action != "list" && action != "show") {
			return err
		}
	}
	return nil
}

func checkGitArgument(sub, arg string) error {
	name, long := longOption(arg)
	switch {
	case long && abbreviates(name, []string{"--pathspec-from-file"}):
		return refuse("git %s %s reads the names of files from a file; write the names as arguments", sub, name)
	case long && abbreviates(name, gitUnsafeOptions) && !slices.Contains(gitSafeOptions, name):
		return refuse("git %s %s can run another program, write any file, or lead out of the repository", sub, name)
	case strings.ContainsAny(shortLetters(arg), gitUnsafeLetters[sub]):
		return refuse("git %s %s can run another program, or change the repository of others", sub, arg)
	case sub == "push" && (long && abbreviates(name, []string{"--force", "--mirror", "--force-with-lease", "--force-if-includes"}) || strings.HasPrefix(arg, "+")):
		return refuse("git push %s overwrites the work of others; only a user may do that", arg)
	case strings.Contains(arg, "::"):
		return refuse("%q names a helper program of git", arg)
	case strings.Contains(arg, "%(raw") || strings.Contains(arg, "%(*raw"):
		return refuse("git %s %s prints the content of any object; use git show COMMIT:PATH for a file", sub, arg)
	}
	return nil
}

// gitQuestions are, by subcommand, the letters of options that ask about each part of a change.
var gitQuestions = map[string]string{"add": "pi", "checkout": "p", "clean": "i", "commit": "p", "reset": "p", "restore": "p", "stash": "p"}

// gitValueLetters are, by subcommand, the letters of options behind which the rest of a cluster is a value.
var gitValueLetters = map[string]string{
	"checkout": "bB", "clean": "e", "commit": "mFCctuS", "restore": "s", "stash": "m",
	"diff": "SGOlI", "log": "SGOlI", "reflog": "SGOlI", "show": "SGOlI", "whatchanged": "SGOlI",
}

// gitLetters returns the letters of the short options in an argument, without values.
func gitLetters(sub, arg string) string {
	letters := shortLetters(arg)
	if i := strings.IndexAny(letters, gitValueLetters[sub]); i >= 0 {
		return letters[:i]
	}
	return letters
}

// checkGitQuestion refuses options that ask about each part of a change: they show its content, and no user can answer.
func checkGitQuestion(sub, arg string) error {
	known, asks := gitQuestions[sub]
	name, long := longOption(arg)
	if asks && (strings.ContainsAny(gitLetters(sub, arg), known) || long && abbreviates(name, []string{"--patch", "--interactive"})) {
		return refuse("git %s %s asks questions, and there is no terminal; name whole files", sub, arg)
	}
	return nil
}

// secretSetting matches names of settings whose values may be credentials; addresses are redacted instead.
var secretSetting = regexp.MustCompile(`(?i)header$|^credential\.|pass$|cookie`)

// checkGitConfig allows reading git's configuration, which names programs that git runs, and refuses writing it. A list
// shows names only, because a value may be a credential.
func (c *call) checkGitConfig(sub string) error {
	if sub != "config" {
		return nil
	}
	args := c.args[1:]
	readers := []string{"--get", "--get-all", "--list", "-l", "get", "list"}
	if len(args) == 0 || !slices.Contains(readers, args[0]) {
		return refuse("git config is only read here: the first argument is one of %s", strings.Join(readers, ", "))
	}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") {
			return refuse("git config %s takes no further option here", args[0])
		}
		if secretSetting.MatchString(arg) || redact.IsSecretName(arg[strings.LastIndex(arg, ".")+1:]) {
			return refuse("the value of %s may be a credential", arg)
		}
	}
	if slices.Contains([]string{"--list", "-l", "list"}, args[0]) {
		c.run = append(slices.Clip(c.args), "--name-only")
	}
	return nil
}

// gitMessageCluster matches a cluster of options without values before -m.
var gitMessageCluster = regexp.MustCompile(`^-[asvqeno]*m$`)

// markGitTexts marks the arguments that are messages and search words. Values that look like options are not marked,
// because only git itself can distinguish them.
func (c *call) markGitTexts(sub string) {
	options := map[string][]string{
		"commit": {"-m", "--message", "--author", "--date", "--trailer"}, "tag": {"-m", "--message"}, "merge": {"-m", "--message"},
		"stash": {"-m", "--message"}, "log": {"--grep", "--author", "--committer", "--since", "--until", "--after", "--before", "-S", "-G"},
		"shortlog": {"--grep", "--author", "--since", "--until"}, "grep": {"-e"},
	}[sub]
	for i := 1; i < len(c.args); i++ {
		arg := c.args[i]
		if arg == "--" {
			return
		}
		if name, long := longOption(arg); long && strings.Contains(arg, "=") && slices.Contains(append(options, "--format", "--pretty"), name) {
			c.text[i] = true
		}
		if !slices.Contains(options, arg) && (sub != "commit" && sub != "tag" || !gitMessageCluster.MatchString(arg)) {
			continue
		}
		if i+1 < len(c.args) && !strings.HasPrefix(c.args[i+1], "-") {
			c.text[i+1] = true
		}
		i++
	}
}
