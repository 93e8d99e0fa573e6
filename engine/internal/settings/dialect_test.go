package settings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/engine/internal/reference"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// refusal is a kind of fault.
type refusal struct {
	code yamldoc.Code
	only string // a regular expression of messages, "" for all
	why  string
}

// beyond are the kinds of faults that a schema cannot find, by their codes. If only is set, the schema finds the other
// faults of the code.
var beyond = []refusal{
	{yamldoc.CodeSize, "", "sizes of the whole file"},
	{yamldoc.CodeRead, "", "other files"},
	{yamldoc.CodeRange, "^default must be at most max|^the shares add up|is more than max_|^limit must be at most [0-9],", "numbers that are held against each other"},
	{yamldoc.CodeIdentifier, "^provider |^output |is too long|is not a directory name", "names that come from elsewhere, and lengths in bytes"},
	{yamldoc.CodeMissing, "has neither a pipeline nor a command|has no exit check|has no max$", "the keys of a node's stage"},
	{yamldoc.CodeChoice, `^unknown sandbox ""|^[a-z_]+ is empty$`, "empty values of sandbox: elsewhere they count as absent"},
	{yamldoc.CodeRepeated, "", "names that stand twice"},
	{yamldoc.CodeConflict, "", "keys that exclude each other: it says the plain ones of them"},
	{yamldoc.CodeStage, "", "stages that there are"},
	{yamldoc.CodePrompt, "", "files that there are"},
	{yamldoc.CodeProvider, "", "providers that there are"},
	{yamldoc.CodeTermination, "", "strategies that there are"},
	{yamldoc.CodeInputs, "", "nodes that run before"},
	{yamldoc.CodePipeline, "", "pipelines that there are"},
	{yamldoc.CodeCycle, "", "pipelines that embed each other"},
	{yamldoc.CodeAction, "", "hook actions that there are"},
	{yamldoc.CodeHookStage, "", "nodes that there are"},
	{yamldoc.CodeCondition, "", "the grammar of conditions"},
	{yamldoc.CodeEdge, "", "nodes that there are"},
	{yamldoc.CodeFlow, "", "ways through the nodes"},
	{yamldoc.CodeRequired, "", "ways through the nodes"},
	{yamldoc.CodeSchema, "", "schemas of artifacts, and their files"},
	{yamldoc.CodeSteps, "", "nodes that run before"},
	{yamldoc.CodeCheck, "", "checks that there are"},
	{yamldoc.CodeCommand, "", "commands that there are"},
	{yamldoc.CodeNode, "", "nodes that there are"},
	{yamldoc.CodeMode, "", "where models are"},
	{yamldoc.CodePattern, "", "the grammars of globs and regular expressions"},
}

// knows reports whether a schema can find a fault in a document of one line.
func knows(d yamldoc.Diagnostic, text string) bool {
	if d.Code == yamldoc.CodeRange && d.Line == 1 && d.Column <= len(text) && text[d.Column-1] == '"' {
		return false // a schema has no bounds for a number that is written as text
	}
	return !slices.ContainsFunc(beyond, func(b refusal) bool {
		return b.code == d.Code && regexp.MustCompile(b.only).MatchString(d.Message)
	})
}

// components is a catalog with the termination strategies of these tests.
type components struct{ catalog }

func (components) Terminations() []string         { return []string{"checks", "fixed", "judgment", "queue"} }
func (c components) Termination(name string) bool { return slices.Contains(c.Terminations(), name) }

var known = components{catalog{
	providers: map[string]string{"claude": "claude", "codex": "codex", "command": "command", "mock": "mock"}, actions: []string{"check", "script", "webhook"},
}}

// library has the stages and pipelines that the documents name.
func library() fstest.MapFS {
	return fstest.MapFS{
		"stages/s/stage.yaml": {Data: []byte("name: s\n")}, "stages/s/prompt.md": {},
		"pipelines/inner.yaml": {Data: []byte("name: inner\nnodes: [{id: i, prompt: x, artifact: {type: t}}]\n")},
	}
}

// file is a kind of file of the dialect, with its reader and sample documents.
type file struct {
	object *dialect.Object
	read   func(dir, text string) yamldoc.Diagnostics
	seeds  []string
}

func request(dir, text string, shipped fs.FS) compile.Request {
	return compile.Request{
		Roots: sources.Roots{Project: dir, Library: shipped}, File: "p.yaml", Text: []byte(text), Session: "s",
		Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: known,
	}
}

func compiled(req compile.Request) yamldoc.Diagnostics {
	_, err := compile.Pipeline(req)
	var list yamldoc.Diagnostics
	errors.As(err, &list)
	return slices.DeleteFunc(list, func(d yamldoc.Diagnostic) bool { return d.Severity != yamldoc.SeverityError })
}

func readPipeline(dir, text string) yamldoc.Diagnostics {
	return compiled(request(dir, text, library()))
}

func readStage(dir, text string) yamldoc.Diagnostics {
	shipped := library()
	shipped["stages/s/stage.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return compiled(request(dir, "name: p\nnodes: [{id: a, stage: s}]\n", shipped))
}

func readConfig(_, text string) yamldoc.Diagnostics {
	_, found := settings.Parse("config.yaml", []byte(text))
	return found
}

func files() []file {
	return []file{
		{&dialect.Pipeline, readPipeline, []string{everyKey, everyKind, oldKeys}},
		{&dialect.Stage, readStage, []string{everyStageKey, wrappingStage, oldStage}},
		{&settings.ConfigTable, readConfig, []string{everyConfigKey, shortConfig}},
	}
}

// A8, A11: documents that compile fit the schema, and documents with a fault that a schema can find do not fit. The
// documents are the seeds with every key and every kind, the corpus of the repository, and thousands of changed seeds. With
// -short, as under the race detector, there are hundreds: the test has one goroutine.
func TestSchemaAgreesWithTheReaders(t *testing.T) {
	for _, f := range files() {
		t.Run(f.object.Name, func(t *testing.T) {
			raw := testkit.Must(reference.Schema(f.object, "urn:agent-pipelines:"+f.object.Name))
			s := testkit.Must(schema.Compile(raw))
			h := hold{t: t, file: f, schema: s, dir: t.TempDir()}
			for i, seed := range f.seeds {
				if faults := f.read(h.dir, asJSON(t, seed)); len(faults) > 0 {
					t.Fatalf("seed %d has faults:\n%v", i, faults)
				}
				h.check(asJSON(t, seed))
			}
			for _, text := range corpus(t, f.object) {
				h.check(text)
			}
			random, pool, rounds := rand.New(rand.NewPCG(1, 2)), values(), 1200 //nolint:gosec // the same documents each time
			if testing.Short() {
				rounds = 200
			}
			for i := range rounds {
				var document any
				testkit.OK(t, json.Unmarshal([]byte(asJSON(t, f.seeds[i%len(f.seeds)])), &document))
				text := testkit.Must(json.Marshal(changed(random, document, pool)))
				h.check(string(text))
			}
			t.Logf("%d documents: %d accepted, %d refused for what a schema knows", h.documents, h.accepted, h.refused)
			if h.documents < rounds || h.accepted < rounds/8 || h.refused < rounds/8 {
				t.Errorf("too few to mean anything")
			}
		})
	}
}

// hold compares the schema of a file with its reader.
type hold struct {
	t *testing.T
	file
	schema                       *schema.Schema
	dir                          string
	documents, accepted, refused int
}

func (h *hold) check(text string) {
	h.t.Helper()
	root, faults := yamldoc.Parse([]byte(text))
	if len(faults) > 0 {
		h.t.Fatalf("no YAML: %v\n%s", faults, text)
	}
	var value any
	if root != nil {
		value = root.Any()
	}
	h.documents++
	found, against := h.read(h.dir, text), h.schema.Validate(value)
	known := slices.ContainsFunc(found, func(d yamldoc.Diagnostic) bool { return knows(d, text) })
	switch {
	case len(found) == 0 && len(against) > 0:
		h.t.Errorf("it is read, and the schema refuses it: %v\n%s", against, text)
	case known && len(against) == 0:
		h.t.Errorf("it is refused, and the schema takes it: %v\n%s", found, text)
	case len(found) == 0:
		h.accepted++
	case known:
		h.refused++
	}
}

// asJSON returns a YAML document as one line of JSON.
func asJSON(t *testing.T, text string) string {
	t.Helper()
	root, faults := yamldoc.Parse([]byte(text))
	if len(faults) > 0 || root == nil {
		t.Fatalf("%v\n%s", faults, text)
	}
	return string(root.JSON())
}

// values returns replacement values: of every type, in and out of bounds, and all choices.
func values() []any {
	pool := []any{
		nil, "", true, false, 0, 1, 2, 5, 6, 10, 11, 100, 101, -1, 1.5, 0.5, 86400, 86401, 1_000_000_000, 1_000_000_001, "7", "1.5", "x", "a b", "a.b", "a..b", "-", "!x",
		"16M", "64M", "65M", "12Q",
		[]any{},
		[]any{"x"},
		[]any{1},
		[]any{nil},
		[]any{map[string]any{}},
		[]any{[]any{}},
		map[string]any{},
		map[string]any{"a": 1},
		map[string]any{"x-a": "b"},
		map[string]any{"type": "fixed"},
		map[string]any{"max": 0},
		map[string]any{"": "x"},
		"a", "b", "a/b", "tool:x", "tool:", "auto", "tmux\n", "7\n", "\n", "\n\n",
	}
	seen := map[string]bool{}
	for _, f := range reference.Files() {
		for _, m := range reference.Objects(f) {
			for _, k := range m.Fields {
				for _, w := range m.Choices(k.Name) {
					if !seen[w] {
						seen[w] = true
						pool = append(pool, w, w+"x")
					}
				}
			}
		}
	}
	return pool
}

// keys returns the names of all keys.
func keys() []string {
	seen := map[string]bool{}
	for _, f := range reference.Files() {
		for _, m := range reference.Objects(f) {
			for _, k := range m.Fields {
				seen[k.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// changed returns the document with one or two changes.
func changed(r *rand.Rand, document any, pool []any) any {
	for range 1 + r.IntN(2) {
		all := places(document, func(v any) { document = v }, nil)
		at := all[r.IntN(len(all))]
		switch m, isMap := at.value.(map[string]any); {
		case r.IntN(6) == 0 && at.remove != nil:
			at.remove()
		case isMap && r.IntN(2) == 0:
			names := append(keys(), "x-mine", "tpyo")
			m[names[r.IntN(len(names))]] = pool[r.IntN(len(pool))]
		default:
			if other := pool[r.IntN(len(pool))]; other != nil || at.remove != nil { // null instead of the document is an empty file, which may be valid
				at.set(other)
			}
		}
	}
	return document
}

// place is a value in a document that can be replaced or removed; remove is nil for the document itself.
type place struct {
	value  any
	set    func(any)
	remove func()
}

// places returns the places of the value and of all values within it.
func places(v any, set func(any), remove func()) []place {
	all := []place{{v, set, remove}}
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, places(v[key], func(other any) { v[key] = other }, func() { delete(v, key) })...)
		}
	case []any:
		for i := range v {
			all = append(all, places(v[i], func(other any) { v[i] = other }, func() { set(slices.Delete(v, i, i+1)) })...)
		}
	}
	return all
}

// corpus returns the documents of the object's kind in the repository, as one line each.
func corpus(t *testing.T, object *dialect.Object) []string {
	t.Helper()
	var found []string
	add := func(name string, data []byte) {
		root, faults := yamldoc.Parse(data)
		if len(faults) > 0 || root == nil || root.Kind != yamldoc.Map {
			return
		}
		kind := dialect.Pipeline.Name
		switch base := filepath.Base(name); {
		case base == "stage.yaml":
			kind = dialect.Stage.Name
		case base == "config.yaml":
			kind = settings.ConfigTable.Name
		case root.Get("nodes") == nil && root.Get("stages") == nil:
			return
		}
		if kind == object.Name {
			found = append(found, string(root.JSON()))
		}
	}
	for _, dir := range []string{"../../../cmd/agent-pipelines", "../../../examples", "../../../kernel/compile/testdata", "../../../plugins"} {
		testkit.OK(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".txtar" {
				return err
			}
			data, err := os.ReadFile(path)
			parts := txtar.Parse(data).Files
			if filepath.Ext(path) == ".yaml" {
				parts = []txtar.File{{Name: path, Data: data}}
			}
			for _, part := range parts {
				if filepath.Ext(part.Name) == ".yaml" {
					add(part.Name, part.Data)
				}
			}
			return err
		}))
	}
	if len(found) == 0 {
		t.Fatal(fmt.Errorf("no documents of %s", object.Name))
	}
	return found
}
