package command

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// gitKind is what a subcommand of git does.
type gitKind int

const (
	gitReads  gitKind = iota // nothing changes
	gitWrites                // the repository or the files
	gitRemote                // it talks to another machine
)

// gitKnown are the subcommands that run nothing but git. One that is missing here could also be an alias of the
// repository, which may be any command; the known ones cannot.
var gitKnown = map[string]gitKind{
	"status": gitReads, "diff": gitReads, "log": gitReads, "show": gitReads, "blame": gitReads, "ls-files": gitReads, "ls-tree": gitReads,
	"rev-parse": gitReads, "rev-list": gitReads, "describe": gitReads, "shortlog": gitReads, "cat-file": gitReads, "grep": gitReads,
	"merge-base": gitReads, "for-each-ref": gitReads, "show-ref": gitReads, "check-ignore": gitReads, "version": gitReads, "config": gitReads,
	"diff-tree": gitReads, "diff-index": gitReads, "name-rev": gitReads, "count-objects": gitReads, "whatchanged": gitReads,

	"add": gitWrites, "branch": gitWrites, "checkout": gitWrites, "cherry-pick": gitWrites, "clean": gitWrites, "commit": gitWrites,
	"init": gitWrites, "merge": gitWrites, "mv": gitWrites, "rebase": gitWrites, "reflog": gitWrites, "remote": gitWrites, "reset": gitWrites,
	"restore": gitWrites, "revert": gitWrites, "rm": gitWrites, "stash": gitWrites, "switch": gitWrites, "tag": gitWrites, "worktree": gitWrites,

	"clone": gitRemote, "fetch": gitRemote, "ls-remote": gitRemote, "pull": gitRemote, "push": gitRemote,
}

// gitRuns are options of subcommands that name a program, or change what git runs. Git takes their beginnings for them.
var gitRuns = []string{
	"--config", "--config-env", "--exec", "--exec-path", "--ext-diff", "--extcmd", "--filters", "--git-dir", "--no-index",
	"--open-files-in-pager", "--output", "--paginate", "--receive-pack", "--separate-git-dir", "--strategy", "--template", "--textconv", "--upload-pack",
	"--work-tree",
}

// gitNot are options that only look like the beginning of one of those.
var gitNot = []string{"--text", "--filter"}

// gitLetters are short options that do the same, by subcommand. They may stand anywhere in a cluster.
var gitLetters = map[string]string{"grep": "O", "rebase": "xs", "clone": "cu", "merge": "s", "pull": "s", "push": "f"}

// git judges a git command. The pager is off in any case, and -C is the directory in which it runs, so that both are
// taken out: policies see the subcommand first.
func git(c *call) error {
	for len(c.args) > 0 && (c.args[0] == "--no-pager" || c.args[0] == "-P" || c.args[0] == "-C" && len(c.args) > 1) {
		if c.args[0] == "-C" {
			c.enter(0, 2, c.args[1])
		} else {
			c.args = c.args[1:]
		}
	}
	if len(c.args) > 0 && c.args[0] == "--version" {
		c.effect = sdk.EffectNone
		return nil
	}
	sub, err := c.subcommand("git", slices.Sorted(maps.Keys(gitKnown)))
	if err != nil {
		return err
	}
	switch gitKnown[sub] {
	case gitReads:
		c.effect = sdk.EffectNone
	case gitRemote:
		c.fetches = true
	case gitWrites:
		c.fetches = sub == "remote" && len(c.args) > 1 && (c.args[1] == "update" || c.args[1] == "show" || c.args[1] == "prune")
	}
	for _, arg := range c.args[1:] {
		if err := gitArgument(sub, arg); err != nil {
			return err
		}
	}
	c.gitTexts(sub)
	return gitConfig(sub, c.args[1:])
}

func gitArgument(sub, arg string) error {
	name, long := option(arg)
	switch {
	case long && shortens(name, gitRuns) && !slices.Contains(gitNot, name):
		return refuse("git %s %s can run another program, write any file, or leave the repository", sub, name)
	case strings.ContainsAny(short(arg), gitLetters[sub]):
		return refuse("git %s %s can run another program, or change what others have", sub, arg)
	case sub == "push" && (long && shortens(name, []string{"--force", "--mirror", "--force-with-lease", "--force-if-includes"}) || strings.HasPrefix(arg, "+")):
		return refuse("git push %s overwrites what others have; only a person may do that", arg)
	case strings.Contains(arg, "::"):
		return refuse("%q names a helper program of git", arg)
	}
	return nil
}

// gitConfig lets configuration be read and not be written: it decides what git runs.
func gitConfig(sub string, args []string) error {
	if sub != "config" {
		return nil
	}
	readers := []string{"--get", "--get-all", "--list", "-l", "get", "list"}
	if len(args) == 0 || !slices.Contains(readers, args[0]) {
		return refuse("git config is only read here: the first argument is one of %s", strings.Join(readers, ", "))
	}
	for _, arg := range args[1:] {
		if strings.HasPrefix(arg, "-") {
			return refuse("git config %s takes no further option here", args[0])
		}
	}
	return nil
}

// gitMessage is a cluster of options without values before -m.
var gitMessage = regexp.MustCompile(`^-[asvqeno]*m$`)

// gitTexts notes which arguments are messages and search words. Their values may not look like options: then it would
// take git itself to know which is which.
func (c *call) gitTexts(sub string) {
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
		if name, long := option(arg); long && strings.Contains(arg, "=") && slices.Contains(append(options, "--format", "--pretty"), name) {
			c.text[i] = true
		}
		if !slices.Contains(options, arg) && (sub != "commit" && sub != "tag" || !gitMessage.MatchString(arg)) {
			continue
		}
		if i+1 < len(c.args) && !strings.HasPrefix(c.args[i+1], "-") {
			c.text[i+1] = true
		}
		i++
	}
}
