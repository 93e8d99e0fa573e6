package compile_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

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
	if diff := cmp.Diff(list(readText(t, "../yamldoc/code.go")), list(readText(t, errorsReference))); diff != "" {
		t.Errorf("codes in code.go and in %s (-code +documented):\n%s", errorsReference, diff)
	}
}

// The examples of the references, each with its path in the first line, compile without a diagnostic.
func TestDocumentedExamples(t *testing.T) {
	for _, page := range []string{reference, hooksReference} {
		t.Run(filepath.Base(page), func(t *testing.T) { compileExamples(t, readText(t, page)) })
	}
}

func compileExamples(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
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
	if len(pipelines) == 0 || len(pipelines)+stages != strings.Count(text, "```yaml") {
		t.Fatalf("examples without a path: found only %q", pipelines)
	}
	for _, file := range pipelines {
		result, err := compile.Pipeline(compile.Request{
			Roots: sources.Roots{Project: dir}, File: file, Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
		})
		if err != nil {
			t.Errorf("%s:\n%v", file, err)
		} else if len(result.Warnings) > 0 {
			t.Errorf("%s warns:\n%v", file, result.Warnings)
		}
	}
}
