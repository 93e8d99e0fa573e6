package guide

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// TestLinks checks that every link between the pages of the repository leads to an existing file, and to an existing
// heading if it names one.
func TestLinks(t *testing.T) {
	all := pages(t)
	found := 0
	for name, p := range all {
		for _, l := range p.links {
			found++
			if l.file == "" {
				t.Errorf("%s: %s leads out of the repository", name, l.text)
				continue
			}
			if _, err := os.Stat(filepath.Join(repository, filepath.FromSlash(l.file))); err != nil {
				t.Errorf("%s: %s leads to nothing", name, l.text)
				continue
			}
			if to, isPage := all[l.file]; l.anchor != "" && (!isPage || !slices.Contains(to.anchors, l.anchor)) {
				t.Errorf("%s: %s: %s has no such heading", name, l.text, l.file)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d links found", found)
	}
}

// TestIndex checks that the index names every page of docs, and that links lead from it to every page below docs.
func TestIndex(t *testing.T) {
	const index = "docs/README.md"
	all := pages(t)
	if !slices.ContainsFunc(all["README.md"].links, func(l link) bool { return l.file == index }) {
		t.Errorf("README.md does not lead to %s", index)
	}
	direct := map[string]bool{index: true}
	for _, l := range all[index].links {
		direct[l.file] = true
	}
	reached := map[string]bool{}
	for next := []string{index}; len(next) > 0; next = next[1:] {
		if reached[next[0]] {
			continue
		}
		reached[next[0]] = true
		for _, l := range all[next[0]].links {
			next = append(next, l.file)
		}
	}
	for name := range all {
		switch dir := path.Dir(name); {
		case dir == "docs" && !direct[name]:
			t.Errorf("%s does not name %s", index, name)
		case strings.HasPrefix(name, "docs/") && !reached[name]:
			t.Errorf("no way leads from %s to %s", index, name)
		}
	}
}

func TestPage(t *testing.T) {
	text := "# A page\n\n## What `--x` is, and why\n## Twice\n## Twice\n## It's _here_: a/b (c)\n" +
		"[one](other.md) `[no](no.md)` [two](../up.md#Part) ![three](#here)\n[out](https://example.com)\n" +
		"```sh\n# no heading\n[no](no.md)\n```\n[four](d/)\n<!-- [no](no.md) -->\n[five](../../x.md)\n"
	got := read("docs/a.md", text)
	want := page{
		links: []link{
			{text: "[one](other.md)", file: "docs/other.md"},
			{text: "[two](../up.md#Part)", file: "up.md", anchor: "Part"},
			{text: "[three](#here)", file: "docs/a.md", anchor: "here"},
			{text: "[four](d/)", file: "docs/d"},
			{text: "[five](../../x.md)"},
		},
		anchors: []string{"a-page", "what---x-is-and-why", "twice", "twice-1", "its-_here_-ab-c"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(page{}, link{})); diff != "" {
		t.Error(diff)
	}
}

var repository = filepath.Join("..", "..")

// page holds the links and the anchors of a Markdown file.
type page struct {
	links   []link
	anchors []string
}

// link is a relative link. file is its target, relative to the repository's root, "" if the target is outside.
type link struct{ text, file, anchor string }

// pages returns the Markdown files of the repository that are written for readers, by their paths from the root.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all := map[string]page{}
	err := filepath.WalkDir(repository, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "prompts" || strings.HasPrefix(d.Name(), ".") && file != repository):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(file) != ".md":
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(repository, file)
		name = filepath.ToSlash(name)
		all[name] = read(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	fenced  = regexp.MustCompile("(?s)(?:^|\n) *```.*?\n *```")
	comment = regexp.MustCompile("(?s)<!--.*?-->")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	code    = regexp.MustCompile("`[^`\n]*`")
	target  = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
)

// read returns the links and headings of a page. It ignores comments and code, and links with a scheme.
func read(name, text string) page {
	text = comment.ReplaceAllString(fenced.ReplaceAllString(text, ""), "")
	var p page
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		anchor := anchor(m[1])
		n := seen[anchor]
		if seen[anchor]++; n > 0 {
			anchor += "-" + strconv.Itoa(n)
		}
		p.anchors = append(p.anchors, anchor)
	}
	for _, m := range target.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
		if scheme.MatchString(m[1]) {
			continue
		}
		l := link{text: m[0]}
		to, anchor, _ := strings.Cut(m[1], "#")
		l.anchor = anchor
		if l.file = name; to != "" {
			l.file = path.Join(path.Dir(name), to)
		}
		if strings.HasPrefix(l.file, "../") {
			l.file = ""
		}
		p.links = append(p.links, l)
	}
	return p
}

// anchor returns the anchor of a heading as renderers of Markdown form it: lower-case letters, digits, underscores, and
// hyphens for spaces. All other characters are dropped.
func anchor(title string) string {
	title = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(title, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, title)
}
