package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// The command parses every command line in the documentation: in blocks, also in blocks that are not run, and within
// sentences. `<x>` stands for a word, `[x]` for an optional word.
func TestDocsLines(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile("`((?:[A-Z_]+=\\S+ )*" + cli.Program + " [^`\n]+)`")
	found := 0
	for name, text := range documents(t) {
		switch name {
		case "CHANGELOG.md", "docs/errors.md", "docs/cli.md": // the history; two pages that TestExplanationsNameCommands and TestHelpExamples check
			continue
		}
		for _, b := range fences(text) {
			for i, line := range b.lines {
				command, typed := strings.CutPrefix(line, "$ ")
				switch {
				case b.language == "console" && !typed:
				case b.shell():
					found += documented(t, name, command)
				case strings.HasPrefix(command, cli.Program+" "):
					t.Errorf("%s:%d: a command outside of a block sh, bash or console: %s", name, b.at+i, line)
				}
			}
			text = strings.Replace(text, b.text(), "\n", 1)
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			found += documented(t, name, m[1])
		}
		for _, line := range regexp.MustCompile(`(?m)^ {4,}(?:\$ )?`+cli.Program+` .*$`).FindAllString(text, -1) {
			t.Errorf("%s: a command outside of a block: %s", name, line)
		}
	}
	require(t, found >= 200, found)
}

// documented parses each call of the command in a line of a page, and returns the number of calls.
func documented(t *testing.T, page, line string) int {
	t.Helper()
	for _, form := range forms {
		line = form.pattern.ReplaceAllString(line, form.replacement)
	}
	line, _, _ = strings.Cut(line, " # ")
	calls := callPattern.Split(line, -1)[1:]
	for _, call := range calls {
		args := shellWords(call)
		if len(args) > 0 && args[0] == "plugin" { // a verb for programs; the plugin parses the other words
			continue
		}
		p := newTestParser()
		arranged := arrange(p.Model, args)
		if arranged.help {
			continue
		}
		switch _, err := p.Parse(arranged.args); {
		case err != nil && strings.HasPrefix(err.Error(), "expected \""): // the page names only the verb
		case err != nil:
			t.Errorf("%s: %s %s: %v", page, cli.Program, call, err)
		case arranged.verb == cli.StageCommand && !stageNames[args[0]]:
			t.Errorf("%s: %s %s: no verb, and no stage that the documentation has", page, cli.Program, call)
		}
	}
	return len(calls)
}

// callPattern matches the text before the words of a call.
var callPattern = regexp.MustCompile(`(?:^|&& |; |\| )(?:[A-Z_]+=\S+ )*` + cli.Program + ` `)

// forms lists the placeholders for words, with their replacements.
var forms = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`<([a-z]+)[^>]*>`), "$1"},               // <file|name> is a word
	{regexp.MustCompile(` \[(--[^\]]+)\]`), " $1"},              // an optional flag
	{regexp.MustCompile(` \[[a-z]+(?:\.\.\.)?\]`), ""},          // an optional word
	{regexp.MustCompile(`(\w)(?:\.\.\.|…)(\s|$)`), "$1$2"},      // name... is one or more names
	{regexp.MustCompile(`(--format) (\w+)(?:\|\w+)+`), "$1 $2"}, // one of several words
}

// stageNames lists the stages in the documentation's examples of the short form of loop.
var stageNames = map[string]bool{"polish": true, "work": true, "ralph": true, "stage": true}

// shellWords splits a shell command into words up to its end: it respects quotes and drops comments.
func shellWords(line string) []string {
	var all []string
	var word strings.Builder
	open, within := rune(0), false
	flush := func() {
		if within {
			all = append(all, word.String())
		}
		word.Reset()
		within = false
	}
	for _, r := range line {
		switch {
		case open != 0 && r == open:
			open = 0
		case open != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			open, within = r, true
		case r == ' ':
			flush()
		case strings.ContainsRune("|<>;&)", r) || r == '#' && !within:
			flush()
			return all
		default:
			word.WriteRune(r)
			within = true
		}
	}
	flush()
	return all
}
