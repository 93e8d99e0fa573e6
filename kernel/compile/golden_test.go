package compile_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata")

// TestGolden compiles the archives of testdata/plan in an empty directory: project/ is the project, engine/ is
// $AGENT_PIPELINES_ROOT, and library/ has the shipped stages. The comment has one setting per line (see
// [parseGolden]). The parts plan.json, diagnostics and library are the expected results.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/plan/*.txtar")
	require(t, err == nil && len(files) != 0, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := must(txtar.ParseFile(file))
			dir := t.TempDir()
			kept, want := layOut(t, dir, archive)
			got := compileGolden(t, dir, archive)
			if *update {
				archive.Files = slices.Concat(kept, got)
				check(t, os.WriteFile(file, txtar.Format(archive), 0o600))
				return
			}
			compare(t, partTexts(want), partTexts(got))
		})
	}
}

// layOut writes the files of a case into dir. It returns the written files as kept and the golden parts as want.
func layOut(t *testing.T, dir string, archive *txtar.Archive) (kept, want []txtar.File) {
	t.Helper()
	for _, f := range archive.Files {
		if !strings.Contains(f.Name, "/") {
			want = append(want, f)
			continue
		}
		kept = append(kept, f)
		writeFile(t, filepath.Join(dir, f.Name), f.Data)
	}
	return kept, want
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(name), 0o750))
	check(t, os.WriteFile(name, data, 0o600))
}

// compileGolden returns the current golden parts, with <DIR> for dir.
func compileGolden(t *testing.T, dir string, archive *txtar.Archive) []txtar.File {
	t.Helper()
	result, err := parseGolden(t, dir, string(archive.Comment))()
	var files []txtar.File
	add := func(name, text string) {
		text = strings.ReplaceAll(text, dir, "<DIR>")
		files = append(files, txtar.File{Name: name, Data: []byte(strings.TrimRight(text, "\n") + "\n")})
	}
	if err != nil {
		add("diagnostics", err.Error())
		return files
	}
	if len(result.Warnings) > 0 {
		add("diagnostics", result.Warnings.Error())
	}
	if len(result.Library) > 0 {
		add("library", strings.Join(result.Library, "\n"))
	}
	add("plan.json", indented(t, result))
	return files
}

// parseGolden returns the function that compiles a case. Each line of the comment is a setting of the case:
// "pipeline FILE" or "loop STAGE [MAX]", "engine", --flag=value or VARIABLE=value.
func parseGolden(t *testing.T, dir, comment string) func() (*compile.Result, error) {
	t.Helper()
	req := compile.Request{
		Roots:   sources.Roots{Project: filepath.Join(dir, "project"), Library: os.DirFS(filepath.Join(dir, "library"))},
		Session: "demo", Now: time.Date(2026, 2, 3, 4, 5, 6, 7, time.FixedZone("", 3600)),
		DefaultProvider: "claude", Catalog: catalog{}, OverrideLabel: asFlag,
	}
	run := func() (*compile.Result, error) { t.Fatal("nothing to compile"); return nil, nil }
	for line := range strings.Lines(comment) {
		line = strings.TrimRight(line, "\n") // a value may be blank
		key, text, _ := strings.Cut(line, "=")
		words := strings.Fields(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case words[0] == "pipeline":
			req.File = words[1]
			run = func() (*compile.Result, error) { return compile.Pipeline(req) }
		case words[0] == "loop":
			loop := compile.Loop{Stage: words[1]}
			if len(words) > 2 {
				loop.Max, _ = strconv.Atoi(words[2])
			}
			run = func() (*compile.Result, error) { return compile.Stage(req, loop) }
		case line == "engine":
			req.Engine = filepath.Join(dir, "engine")
		default:
			setGolden(t, &req, key, text)
		}
	}
	return run
}

func setGolden(t *testing.T, req *compile.Request, key, text string) {
	t.Helper()
	over := &req.Overrides
	name, value, _ := strings.Cut(text, "=")
	texts := map[string]*string{
		"--provider": &over.Provider, "--model": &over.Model, "--context": &over.Context, "--start": &over.Start, "--exit-after": &over.ExitAfter,
		"CLAUDE_PIPELINE_PROVIDER": &req.Env.Provider, "CLAUDE_PIPELINE_MODEL": &req.Env.Model, "CLAUDE_PIPELINE_CONTEXT": &req.Env.Context,
	}
	lists := map[string]*[]string{"--input": &over.Inputs, "--skip": &over.Skip, "--iterate": &over.Iterate}
	switch key {
	case "no default provider":
		req.DefaultProvider = ""
	case "--command":
		over.Commands = map[string]string{name: value}
	case "--timeout":
		if over.Timeouts == nil {
			over.Timeouts = map[string]float64{}
		}
		over.Timeouts[name] = must(strconv.ParseFloat(value, 64))
	case "--max-cycles":
		over.MaxCycles = must(strconv.Atoi(text))
	case "--supervised":
		over.Supervised = text == "true"
	case "--run-timeout":
		over.Timeout = must(strconv.ParseFloat(text, 64))
	case "--artifact":
		if over.Artifacts == nil {
			over.Artifacts = map[string]string{}
		}
		over.Artifacts[name] = value
	default:
		if list := lists[key]; list != nil {
			*list = append(*list, text)
			return
		}
		require(t, texts[key] != nil, "unknown setting", key)
		*texts[key] = text
	}
}

// indented returns the plan as JSON without HTML escapes.
func indented(t *testing.T, result *compile.Result) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	check(t, e.Encode(result.Plan))
	return b.String()
}

func partTexts(files []txtar.File) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m[f.Name] = string(f.Data)
	}
	return m
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const (
	reference       = "../../docs/pipelines.md"
	errorsReference = "../../docs/errors.md"
	hooksReference  = "../../docs/hooks.md"
)

func readText(t *testing.T, file string) string {
	t.Helper()
	return string(must(os.ReadFile(file)))
}

// Every code is documented, and every documented code exists.
func TestCodesAreDocumented(t *testing.T) {
	code := regexp.MustCompile(`AP-YAML-\d+`)
	list := func(text string) []string {
		found := code.FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	compare(t, list(readText(t, "../yamldoc/code.go")), list(readText(t, errorsReference)))
}

// The examples of the references, each with its path in the first line, compile without a diagnostic.
func TestDocumentedExamples(t *testing.T) {
	for _, page := range []string{reference, hooksReference} {
		t.Run(filepath.Base(page), func(t *testing.T) { compileExamples(t, readText(t, page)) })
	}
}

func compileExamples(t *testing.T, text string) {
	t.Helper()
	req := diagnosticRequest(t, nil)
	dir := req.Project
	writeFile(t, filepath.Join(dir, "docs", "a.md"), nil)
	example := regexp.MustCompile("(?s)```yaml\n# (\\S+)\n(.*?)```")
	var pipelines []string
	stages := 0
	for _, match := range example.FindAllStringSubmatch(text, -1) {
		file := filepath.Join(dir, filepath.FromSlash(match[1]))
		writeFile(t, file, []byte(match[2]))
		if filepath.Base(file) == "stage.yaml" {
			writeFile(t, filepath.Join(filepath.Dir(file), "prompt.md"), nil)
			stages++
			continue
		}
		pipelines = append(pipelines, match[1])
	}
	require(t, len(pipelines) != 0 && len(pipelines)+stages == strings.Count(text, "```yaml"), pipelines)
	for _, file := range pipelines {
		req.File = file
		found := compileDiagnostics(t, req)
		require(t, len(found) == 0, file, found)
	}
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}
