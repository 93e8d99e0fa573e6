package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestDocs runs every command of the documentation: the sh, bash and console blocks of a page in order, in a new project and
// without a terminal. A comment above a block may control it:
//
//	<!-- not run: REASON -->           the block cannot run here; TestDocsNotRun lists its commands
//	<!-- file: PATH -->                the block, of any language, is written to PATH, or inserted there with ", above LINE"
//	<!-- each line alone -->           each command finds the project as it was before the block
//
// A console block also shows the output of a command: see [pageShows]. The directory testdata/docs holds the other inputs of a
// page: commands that run first, files, further expected output ("test/says", in this order), exit codes other than 0
// ("test/exits") and commands that check the result ("test/after").
func TestDocs(t *testing.T) {
	t.Parallel()
	all := documents(t)
	files := must(filepath.Glob(filepath.Join("testdata", "docs", "*.txtar")))
	names := slices.Collect(maps.Keys(all))
	for _, file := range files {
		require(t, slices.ContainsFunc(names, func(name string) bool { return pageNeeds(name) == file }), file)
	}
	for name, text := range all {
		p := parsePage(t, name, text)
		if len(p.steps) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p.run(t)
		})
	}
}

// The file not-run.txt lists exactly the commands that are not run, with the reasons in their pages (make golden rewrites it).
func TestDocsNotRun(t *testing.T) {
	var list strings.Builder
	all := documents(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, b := range fences(all[name]) {
			if why, marked := b.mark("not run: "); marked {
				for _, command := range fenceCommands(b) {
					fmt.Fprintf(&list, "%s: %s\n\t%s\n", name, why, command.line)
				}
			}
		}
	}
	golden(t, filepath.Join("testdata", "docs", "not-run.txt"), list.String())
}

// step is a command of a page.
type step struct {
	at    int // line of the page
	line  string
	shown []string // lines that the page shows below the command
}

// docPage is a page with the inputs of its test.
type docPage struct {
	steps  []step
	script strings.Builder // shell script with the commands
	needs  txtar.Archive
	dir    string // directory of the files that the script reads
}

// parsePage returns the script of a page.
func parsePage(t *testing.T, name, text string) *docPage {
	t.Helper()
	p := &docPage{dir: t.TempDir()}
	if archive, err := txtar.ParseFile(pageNeeds(name)); err == nil {
		p.needs = *archive
	} else if !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for i, b := range fences(text) {
		if file, marked := b.mark("file: "); marked {
			p.place(t, i, file, b.text())
			continue
		}
		_, not := b.mark("not run: ")
		_, alone := b.mark("each line alone")
		if !b.shell() || not {
			continue
		}
		for _, s := range fenceCommands(b) {
			if alone {
				p.script.WriteString("rm -rf \"$ASIDE\" \"$ASIDE.state\" && cp -a . \"$ASIDE\" && mkdir -p ~/.local/state && cp -a ~/.local/state \"$ASIDE.state\"\n")
			}
			p.script.WriteString(s.line + "\nprintf '\\036%d\\n' $?\n")
			if alone {
				p.script.WriteString("find . -mindepth 1 -delete && cp -a \"$ASIDE\"/. . && rm -rf ~/.local/state && cp -a \"$ASIDE.state\" ~/.local/state\n")
			}
			p.steps = append(p.steps, s)
		}
	}
	return p
}

// pageNeeds returns the file with the inputs of a page's test, if there is one.
func pageNeeds(page string) string {
	return filepath.Join("testdata", "docs", strings.ReplaceAll(strings.TrimSuffix(page, ".md"), "/", "-")+".txtar")
}

// place makes the script write a block to a file, or insert it above a line of a file.
func (p *docPage) place(t *testing.T, n int, file, text string) {
	t.Helper()
	from := filepath.Join(p.dir, strconv.Itoa(n))
	check(t, os.WriteFile(from, []byte(text), 0o600))
	file, line, within := strings.Cut(file, ", above ")
	if within {
		fmt.Fprintf(&p.script, "grep -qxF -- '%[2]s' '%[1]s' || printf 'no such line: %[2]s'\n"+
			"awk -v from='%[3]s' -v line='%[2]s' '$0 == line { while ((getline put < from) > 0) print put } 1' '%[1]s' > '%[1]s.new' && mv '%[1]s.new' '%[1]s'\n", file, line, from)
		return
	}
	fmt.Fprintf(&p.script, "mkdir -p '%s' && cp '%s' '%s'\n", filepath.Dir(file), from, file)
}

// run executes the commands and checks their results.
func (p *docPage) run(t *testing.T) {
	root := t.TempDir()
	project := filepath.Join(root, "project")
	var says, exits, after string
	for _, f := range p.needs.Files {
		switch f.Name {
		case "test/says":
			says = string(f.Data)
		case "test/exits":
			exits = string(f.Data)
		case "test/after":
			after = string(f.Data)
		default:
			file := filepath.Join(project, f.Name)
			check(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, f.Data, 0o755)))
		}
	}
	outputs := p.typed(t, root, project, after)
	before := outputs[0]
	for i, s := range p.steps {
		code, text := outputs[i+1].code, outputs[i+1].text
		if want := exitWanted(exits, s.line); code != want {
			t.Fatalf("line %d: %s\nexit %d, want %d\n%s\nbefore all: %s", s.at, s.line, code, want, text, before.text)
		}
		if len(s.shown) > 0 && !pageShows(s.shown, text, project) {
			t.Errorf("line %d: %s\nthe page shows\n%s\nand it says\n%s", s.at, s.line, strings.Join(s.shown, "\n"), text)
		}
	}
	all := ""
	for _, one := range outputs {
		all += one.text
	}
	for want := range strings.Lines(says) {
		_, rest, found := strings.Cut(all, strings.TrimSpace(want))
		require(t, found, "the output lacks, or has too early:", strings.TrimSpace(want), all)
		all = rest
	}
	if last := outputs[len(outputs)-1]; after != "" && last.code != 0 {
		t.Errorf("the state at the end is not as it should be: exit %d of\n%s\n%s", last.code, after, last.text)
	}
}

// released writes a shell file that makes the released command and modules available without a network.
func (p *docPage) released(t *testing.T, root string) {
	t.Helper()
	r := published(t)
	gobin := must(exec.LookPath("go"))
	lines := "export PATH='" + r.bin + ":" + filepath.Dir(gobin) + "':$PATH\n"
	for _, entry := range r.env {
		name, value, _ := strings.Cut(entry, "=")
		lines += "export " + name + "='" + value + "'\n"
	}
	check(t, os.WriteFile(filepath.Join(root, "released"), []byte(lines), 0o600))
}

// uttered is the output and the exit code of a command.
type uttered struct {
	code int
	text string
}

// typed runs the script: first the page's inputs, then each step, then the final checks.
func (p *docPage) typed(t *testing.T, root, project, after string) []uttered {
	t.Helper()
	checkout := must(filepath.Abs("../.."))
	if strings.Contains(string(p.needs.Comment), "$RELEASED") {
		p.released(t, root)
	}
	script := "exec 2>&1\nset -e\n" + string(p.needs.Comment) + "\nset +e\nprintf '\\036%d\\n' 0\n" + p.script.String() + "( set -e\n" + after + "\n)\nprintf '\\036%d\\n' $?\n"
	check(t, errors.Join(os.MkdirAll(project, 0o755), os.MkdirAll(filepath.Join(root, "home"), 0o700), os.WriteFile(filepath.Join(root, "script"), []byte(script), 0o600)))
	cmd := exec.CommandContext(t.Context(), "bash", filepath.Join(root, "script"))
	cmd.Dir = project
	cmd.Env = []string{
		"PATH=" + filepath.Join(programs, "bin") + ":/usr/bin:/bin", "HOME=" + filepath.Join(root, "home"), "LANG=C.UTF-8", "TZ=UTC", "USER=ann",
		"CHECKOUT=" + checkout, "SHOP=" + filepath.Join(checkout, "cmd/agent-pipelines/testdata/docs/shop"), "ASIDE=" + filepath.Join(root, "aside"), "AGENT_PIPELINES_BELL=0", "GOGC=" + rareCollection,
		"RELEASED=" + filepath.Join(root, "released"),
	}
	if counts := os.Getenv("GOCOVERDIR"); counts != "" { // see coverVariable
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+counts)
	}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	parts := strings.Split(string(out), "\036")
	outputs := []uttered{{text: parts[0]}}
	for i, part := range parts[1:] {
		code, text, _ := strings.Cut(part, "\n")
		outputs[i].code, _ = strconv.Atoi(code)
		outputs = append(outputs, uttered{text: text})
	}
	outputs = outputs[:len(outputs)-1]
	require(t, len(outputs) == len(p.steps)+2, len(outputs)-1, len(p.steps), string(out))
	return outputs
}

// exitWanted returns the exit code of the first line "CODE PREFIX" of a list that matches the command, or 0.
func exitWanted(list, command string) int {
	for row := range strings.Lines(list) {
		code, line, _ := strings.Cut(strings.TrimSpace(row), " ")
		if strings.HasPrefix(command, line) {
			n, _ := strconv.Atoi(code)
			return n
		}
	}
	return 0
}

// pageShows reports whether the output of a command matches its page. In the page "…" stands for any words in a line, or
// alone for any lines; the project is /home/ann/shop; numbers, times, ids and sizes may differ.
func pageShows(page []string, line, project string) bool {
	line = columns.ReplaceAllString(strings.ReplaceAll(line, project, "/home/ann/shop"), "  ")
	var pattern strings.Builder
	for _, line := range page {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*`)
			continue
		}
		exact := strings.ReplaceAll(regexp.QuoteMeta(changing.ReplaceAllString(columns.ReplaceAllString(strings.TrimRight(line, " "), "  "), "0")), "…", ".*")
		pattern.WriteString(exact + ` *\n`)
	}
	return regexp.MustCompile("^" + pattern.String() + "$").MatchString(changing.ReplaceAllString(line, "0"))
}

// columns matches the padding of tables, which depends on their cells.
var columns = regexp.MustCompile(`  +`)

// changing matches the values that differ between runs.
var changing = regexp.MustCompile(`q-[0-9a-f]{8}|[0-9a-f]{64}|[0-9]+(?:[.:,T-][0-9]+)*(?:Z\b|[kMG]iB|ms\b|s\b|m\b)?`)

// documents returns the pages of the documentation by their paths relative to the root of the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "examples/*/*.md", "plugins/*/*.md", "skills/*/*.md"} {
		files := must(filepath.Glob(filepath.Join("../..", pattern)))
		for _, file := range files {
			text := must(os.ReadFile(file))
			all[strings.TrimPrefix(filepath.ToSlash(file), "../../")] = string(text)
		}
	}
	require(t, len(all) >= 40, len(all))
	return all
}
