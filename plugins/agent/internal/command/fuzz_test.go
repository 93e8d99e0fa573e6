package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
)

// FuzzWords: D7: accepted lines have no operator, and their words are the same after JoinWords and SplitWords.
func FuzzWords(f *testing.F) {
	for _, line := range []string{"git status", `git commit -m "a; b" 'c $d'`, "git status; id", "a\nb", "$(x)", "`x`", `a\ b`, "{a,b}", "a=b c", `"\$x"`, "~", "x # y", `$'a'`, "''", "a''b"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := command.SplitWords(line)
		if err != nil {
			return
		}
		if len(words) == 0 || strings.ContainsAny(line, "\n\r\x00") {
			t.Fatalf("%q is accepted as %q", line, words)
		}
		if bare := strings.NewReplacer("'", "", `"`, "").Replace(line); bare == line && strings.ContainsAny(line, ";&|$`<>*?[\\(){}") && !strings.ContainsAny(line, "{}") {
			t.Fatalf("%q has an operator and is accepted", line)
		}
		again, err := command.SplitWords(command.JoinWords(words))
		if diff := cmp.Diff(words, again); diff != "" || err != nil {
			t.Fatalf("%q comes back as (-want +got), %v:\n%s", command.JoinWords(words), err, diff)
		}
	})
}

// FuzzJudge: U174, U322, U323: no line causes a panic, and every accepted line runs a listed program in the workspace. Git
// shows differences only with all names of secrets excluded, and nothing behind its last "--" is an option.
func FuzzJudge(f *testing.F) {
	for _, line := range []string{
		"git -C sub log", "git -C", "git commit -am x", "go test -C sub -run X ./...", "go -C", "make -C sub -f x A=b", "python -m", "python -Wm x", "python -m pytest -k", "node --test x", "npm test --", "yarn run", "cargo clippy -- x",
		"dotnet test --filter A=b", "git log --grep", "go build -ldflags", "make -f", "git config --get", "git -C /", "git push +x",
		"git reset --har", "git clean -fdx", "git clean -n -- -f", "git stash -u", "git diff a..b -- -S", "git show x:y", "git grep -e -- x", "git log -p -S", "git diff-tree -p x y", "git cat-file -p x",
	} {
		f.Add(line, "sub")
	}
	rules, base := newRules(f)
	rules.Secrets = []string{".env", "secrets"}
	f.Fuzz(func(t *testing.T, line, dir string) {
		c, err := rules.Judge(line, dir)
		if err != nil {
			return
		}
		if len(c.Args) == 0 || !slices.Contains(command.DefaultPrograms(), c.Args[0]) || filepath.Dir(c.Path) != filepath.Join(base, "bin") || !filepath.IsLocal(c.Dir) {
			t.Fatalf("%q in %q: %+v", line, dir, c)
		}
		checkGitRun(t, c)
		if again, err := rules.Judge(c.Line(), c.Dir); err != nil || cmp.Diff(c, again) != "" {
			t.Fatalf("%q in %q is %q, which is judged differently: %v\n%s", line, dir, c.Line(), err, cmp.Diff(c, again))
		}
	})
}

// checkGitRun checks the arguments with which a judged command of git runs.
func checkGitRun(t *testing.T, c command.Command) {
	t.Helper()
	if c.Args[0] != "git" || len(c.Run) == 0 {
		return
	}
	excluded := strings.Count(strings.Join(c.Run, "\n"), "\n:(exclude,top,icase,glob)**/")
	if slices.Contains([]string{"diff", "show", "diff-tree", "diff-index", "grep"}, c.Run[0]) && excluded < 4 {
		t.Fatalf("%q runs as %q and excludes no secrets", c.Line(), c.Run)
	}
	if excluded >= 4 {
		for i := len(c.Run) - 1; c.Run[i] != "--"; i-- {
			if strings.HasPrefix(c.Run[i], "-") {
				t.Fatalf("%q runs as %q with an option behind the paths", c.Line(), c.Run)
			}
		}
	}
	if c.Run[0] == "reset" && !c.Destructive && slices.ContainsFunc(c.Run, func(arg string) bool { return strings.HasPrefix(arg, "--h") }) {
		t.Fatalf("%q loses work, and is not destructive", c.Line())
	}
}
