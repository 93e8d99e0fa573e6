package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fence is a block of a page between two lines of three backticks.
type fence struct {
	at       int // line of the page where its text begins, from 1
	language string
	lines    []string
	marks    []string // comments directly above the block
}

// fences returns the blocks of a page.
func fences(text string) []fence {
	var all []fence
	var marks []string
	var open *fence
	indent := ""
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimSpace(line)
		switch {
		case open != nil && bare == "```":
			all = append(all, *open)
			open, marks = nil, nil
		case open != nil:
			open.lines = append(open.lines, strings.TrimPrefix(line, indent))
		case strings.HasPrefix(bare, "```"):
			indent, _, _ = strings.Cut(line, "`")
			open = &fence{at: i + 2, language: bare[3:], marks: marks}
		case strings.HasPrefix(bare, "<!--") && strings.HasSuffix(bare, "-->"):
			marks = append(marks, strings.TrimSpace(bare[4:len(bare)-3]))
		default:
			marks = nil
		}
	}
	return all
}

func (b fence) text() string { return strings.Join(b.lines, "\n") + "\n" }

// shell reports whether the block has commands.
func (b fence) shell() bool { return slices.Contains([]string{"sh", "bash", "console"}, b.language) }

// mark returns the text after a keyword in the comments above the block, and whether one begins with the keyword.
func (b fence) mark(word string) (string, bool) {
	for _, m := range b.marks {
		if rest, found := strings.CutPrefix(m, word); found {
			return rest, true
		}
	}
	return "", false
}

// fenceCommands returns the commands of a block. A line that ends with a backslash continues on the next line. In a
// console block, "$ " begins a command, and the lines below the command are its output.
func fenceCommands(b fence) []step {
	var all []step
	joined := false
	for i, line := range b.lines {
		prompt := strings.HasPrefix(line, "$ ")
		switch {
		case joined:
			all[len(all)-1].line += "\n" + line
		case b.language == "console" && !prompt:
			if len(all) > 0 {
				all[len(all)-1].shown = append(all[len(all)-1].shown, line)
			}
			continue
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		default:
			all = append(all, step{at: b.at + i, line: strings.TrimPrefix(line, "$ ")})
		}
		joined = strings.HasSuffix(line, `\`)
	}
	return all
}

func TestFences(t *testing.T) {
	text := "# Page\n<!-- not run: it needs a model -->\n```sh\nmake \\\n  all\n\n# why\nls   # what\n```\n\n  ```console\n  $ a\n  said\n  $ b\n  ```\n```yaml\na: 1\n```\n"
	got := fences(text)
	want := []fence{
		{at: 4, language: "sh", lines: []string{`make \`, "  all", "", "# why", "ls   # what"}, marks: []string{"not run: it needs a model"}},
		{at: 12, language: "console", lines: []string{"$ a", "said", "$ b"}},
		{at: 17, language: "yaml", lines: []string{"a: 1"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(fence{})); diff != "" {
		t.Fatal(diff)
	}
	why, marked := got[0].mark("not run: ")
	require(t, marked && why == "it needs a model", why)
	commands := slices.Concat(fenceCommands(got[0]), fenceCommands(got[1]))
	if diff := cmp.Diff([]step{{at: 4, line: "make \\\n  all"}, {at: 8, line: "ls   # what"}, {at: 12, line: "a", shown: []string{"said"}}, {at: 14, line: "b"}}, commands, cmp.AllowUnexported(step{})); diff != "" {
		t.Error(diff)
	}
}

func TestContainsOutput(t *testing.T) {
	for _, tt := range []struct {
		name, page, output string
		want               bool
	}{
		{"the same", "done", "done\n", true},
		{"another", "done", "gone\n", false},
		{"more", "done", "done\nand more\n", false},
		{"any lines", "a\n…\nz", "a\nb\nc\nz\n", true},
		{"any words", "in … days", "in seven long days\n", true},
		{"numbers", "PID 4711, 2 s, q-b906d6a9", "PID 1, 0.3 s, q-00000000\n", true},
		{"the project", "/home/ann/shop/x", "/tmp/p/x\n", true},
	} {
		compare(t, tt.want, pageShows(strings.Split(tt.page, "\n"), tt.output, "/tmp/p"))
	}
}
