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

// FuzzJudge: U174: no line causes a panic, and every accepted line runs a listed program in the workspace.
func FuzzJudge(f *testing.F) {
	for _, line := range []string{
		"git -C sub log", "git -C", "git commit -am x", "go test -C sub -run X ./...", "go -C", "make -C sub -f x A=b", "python -m", "python -Wm x", "python -m pytest -k", "node --test x", "npm test --", "yarn run", "cargo clippy -- x",
		"dotnet test --filter A=b", "git log --grep", "go build -ldflags", "make -f", "git config --get", "git -C /", "git push +x",
	} {
		f.Add(line, "sub")
	}
	rules, base := newRules(f)
	f.Fuzz(func(t *testing.T, line, dir string) {
		c, err := rules.Judge(line, dir)
		if err != nil {
			return
		}
		if len(c.Args) == 0 || !slices.Contains(command.DefaultPrograms(), c.Args[0]) || filepath.Dir(c.Path) != filepath.Join(base, "bin") || !filepath.IsLocal(c.Dir) {
			t.Fatalf("%q in %q: %+v", line, dir, c)
		}
		if again, err := rules.Judge(c.Line(), c.Dir); err != nil || cmp.Diff(c, again) != "" {
			t.Fatalf("%q in %q is %q, which is judged differently: %v\n%s", line, dir, c.Line(), err, cmp.Diff(c, again))
		}
	})
}
