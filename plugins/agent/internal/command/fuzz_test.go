package command_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/command"
)

// D7: whatever is accepted is words that a shell would read just so.
func FuzzWords(f *testing.F) {
	for _, line := range []string{"git status", `git commit -m "a; b" 'c $d'`, "git status; id", "a\nb", "$(x)", "`x`", `a\ b`, "{a,b}", "a=b c", `"\$x"`, "~", "x # y", `$'a'`, "''", "a''b"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := command.Words(line)
		if err != nil {
			return
		}
		if len(words) == 0 || strings.ContainsAny(line, "\n\r\x00") {
			t.Fatalf("%q is accepted as %q", line, words)
		}
		if bare := strings.NewReplacer("'", "", `"`, "").Replace(line); bare == line && strings.ContainsAny(line, ";&|$`<>*?[\\(){}") && !strings.ContainsAny(line, "{}") {
			t.Fatalf("%q has an operator and is accepted", line)
		}
		again, err := command.Words(command.Line(words))
		if diff := cmp.Diff(words, again); diff != "" || err != nil {
			t.Fatalf("%q comes back as (-want +got), %v:\n%s", command.Line(words), err, diff)
		}
	})
}
