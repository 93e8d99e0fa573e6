package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/manual"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/machine"
)

// A8: the manual has a page for every verb with all its arguments and flags.
func TestManual(t *testing.T) {
	p := newTestParser()
	pages := map[string]string{}
	for _, page := range machine.Manual((&cli.App{Parser: func() *kong.Kong { return p }})) {
		checkRoff(t, page)
		pages[page.File] = plainRoff(page.Text)
	}
	holds(t, pages[cli.Program+".1"], p.Model.Node)
	count := 1
	for _, verb := range p.Model.Children {
		if verb.Hidden || verb.Name == cli.StageCommand {
			continue
		}
		count++
		text, exists := pages[cli.Program+"-"+verb.Name+".1"]
		require(t, exists, verb.Name)
		require(t, strings.Contains(pages[cli.Program+".1"], cli.Program+"-"+verb.Name+"(1)"), verb.Name)
		holdsAll(t, text, verb)
	}
	compare(t, count, len(pages))
	for _, name := range []string{cli.Program + ".1", cli.Program + "-plugins.1"} {
		golden(t, filepath.Join("testdata", "man", strings.TrimSuffix(name, ".1")+".txt"), pages[name])
	}
}

// holdsAll checks that a page describes a verb and its subcommands completely.
func holdsAll(t *testing.T, page string, n *kong.Node) {
	t.Helper()
	holds(t, page, n)
	for _, child := range n.Children {
		holdsAll(t, page, child)
	}
}

func holds(t *testing.T, page string, n *kong.Node) {
	t.Helper()
	var wanted []string
	for _, flag := range n.Flags {
		if flag.Hidden {
			require(t, !strings.Contains(page, "\n--"+flag.Name+"\n"), n.Name, flag.Name)
			continue
		}
		wanted = append(wanted, flag.String(), flag.Help)
	}
	for _, arg := range n.Positional {
		wanted = append(wanted, "<"+arg.Name, arg.Help)
	}
	for _, line := range parseExamples(n.Detail) {
		wanted = append(wanted, "\n"+cli.Program+" "+line+"\n")
	}
	for _, text := range wanted {
		require(t, strings.Contains(page, text), n.Name, text)
	}
}

// requests lists the roff requests of the pages.
var requests = []string{"TH", "SH", "SS", "PP", "TP", "RS", "RE", "nf", "fi"}

// checkRoff checks a page by the rules of the format, and with groff if it is installed.
func checkRoff(t *testing.T, page manual.Page) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimSuffix(page.Text, "\n"), "\n") {
		request, is := strings.CutPrefix(line, ".")
		word, _, _ := strings.Cut(request, " ")
		switch {
		case is && !slices.Contains(requests, word), strings.HasPrefix(line, "'"):
			t.Errorf("%s:%d: an unknown request: %s", page.File, i+1, line)
		case line == "":
			t.Errorf("%s:%d: an empty line", page.File, i+1)
		case strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }):
			t.Errorf("%s:%d: a character that not every terminal has: %q", page.File, i+1, line)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return // the rules above hold everywhere
	}
	file := filepath.Join(t.TempDir(), page.File)
	check(t, os.WriteFile(file, []byte(page.Text), 0o600))
	var output bytes.Buffer
	cmd := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-z", file)
	cmd.Stderr = &output
	err = cmd.Run()
	require(t, err == nil && output.Len() == 0, page.File, err, output.String())
}

// plainRoff returns a page without escapes, as a reader sees it.
func plainRoff(text string) string {
	return strings.NewReplacer(
		`\fB`, "", `\fR`, "", `\-`, "-", `\e`, `\`, `\(aq`, "'", `\(ga`, "`", `\(ha`, "^", `\(ti`, "~", `\(dq`, `"`, `\&`, "", `\[u2026]`, "…",
	).Replace(text)
}
