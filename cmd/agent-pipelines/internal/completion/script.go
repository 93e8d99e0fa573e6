package completion

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
)

//go:embed scripts
var scripts embed.FS

// Shells lists the shells that have a [Script].
var Shells = []string{"bash", "fish", "zsh"}

// Files is the output that makes the shell complete names of files.
const Files = ":files"

// Script returns a shell's completion script. The script calls the command by its name, never by the path on the line:
// the tab key must not start a program of a repository.
func Script(shell string) (string, error) {
	if !slices.Contains(Shells, shell) {
		return "", fmt.Errorf("there is no completion for %q, only for %s", shell, strings.Join(Shells, ", "))
	}
	text, err := scripts.ReadFile("scripts/agent-pipelines." + shell)
	return string(text), err
}

// Line returns the printed form of a candidate: the word and, after a tab, its description.
func (c Candidate) Line() string {
	if c.Description == "" {
		return screen.Printable(c.Value)
	}
	return screen.Printable(c.Value) + "\t" + screen.Printable(c.Description)
}
