package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
)

// withoutDocument maps the verbs that print no document with --json to the reason.
var withoutDocument = map[string]string{
	"watch":         "it draws a screen, and refuses --json",
	"mcp serve":     "it speaks the Model Context Protocol on its standard output, in lines of JSON anyway",
	"metrics print": "it is metrics --prometheus, another format, and refuses --json",
	"schema print":  "it prints a JSON Schema, with --json and without",
	"man-pages":     "hidden: make install calls it",
	"plugin serve":  "hidden: it speaks the plugin protocol on its standard output",
	"plugin host":   "hidden: it is a part of plugins verify",
	"tmux-start":    "hidden: it runs a session, whose documents are those of the verb that asked for it",
	"run-session":   "hidden, as tmux-start",
	"__complete":    "hidden: a shell reads what it prints",
}

// A8, U294: every verb with output prints JSON too. A new verb needs its documents in internal/document, or a reason in
// withoutDocument.
func TestEveryVerbHasADocument(t *testing.T) {
	documents := map[string]bool{}
	for _, s := range document.Shapes() {
		for _, verb := range s.Commands {
			documents[verb] = true
		}
	}
	verbs := leaves(newParser(cli.Console{Stdout: io.Discard, Stderr: io.Discard}).Model.Node)
	for _, verb := range verbs {
		_, excused := withoutDocument[verb]
		require(t, documents[verb] != excused, verb, documents[verb], excused)
	}
	for verb := range documents {
		if !slices.Contains(verbs, verb) && !strings.HasPrefix(verb, "every verb") {
			t.Errorf("documents are named of %q, which is not a verb", verb)
		}
	}
}

// leaves returns the verbs below a node that have no subcommands, as typed.
func leaves(n *kong.Node) []string {
	var all []string
	for _, child := range n.Children {
		below := leaves(child)
		if len(below) == 0 {
			all = append(all, child.Name)
		}
		for _, verb := range below {
			all = append(all, child.Name+" "+verb)
		}
	}
	return all
}

// The published schemas equal the output of the command; make golden writes them.
func TestPublishedSchemas(t *testing.T) {
	const dir = "../../docs/schema/output"
	var want []string
	for _, s := range document.Shapes() {
		text, err := s.Schema()
		if err != nil {
			t.Error(err)
			continue
		}
		golden(t, filepath.Join(dir, s.Name+".json"), string(text)+"\n")
		want = append(want, s.Name+".json")
	}
	files := must(os.ReadDir(dir))
	for _, file := range files {
		require(t, slices.Contains(want, file.Name()), file.Name())
	}
}

// schemas returns the compiled published schemas by name.
var schemas = sync.OnceValues(func() (map[string]*jsonschema.Resolved, error) {
	all := map[string]*jsonschema.Resolved{}
	for _, s := range document.Shapes() {
		text, err := os.ReadFile("../../docs/schema/output/" + s.Name + ".json")
		if err != nil {
			return nil, err
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			return nil, err
		}
		if all[s.Name], err = schema.Resolve(nil); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// seen records the pairs of document and verb that occurred in scripts.
var seen struct {
	sync.Mutex
	pairs map[string]bool
}

// everyDocumentSeen fails for each document that a verb declares and no script has printed.
func everyDocumentSeen(t *testing.T) {
	if t.Failed() {
		return // the failed script may be the one that should have printed a document
	}
	seen.Lock()
	defer seen.Unlock()
	for _, s := range document.Shapes() {
		for _, verb := range s.Commands {
			if !seen.pairs[s.Name+" of "+verb] {
				t.Errorf("no script checks the document %s of the verb %s", s.Name, verb)
			}
		}
	}
}

// checkDocuments validates the --json output of a command against the published schemas: events, one per line, and at the
// end at most one document, which the verb must declare.
func checkDocuments(args []string, code int, printed string) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	verb := verbName(args)
	values, lines, err := documentsIn(printed)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	if _, excused := withoutDocument[verb]; len(values) == 0 && !excused && !slices.Contains([]string{"tail", "attach"}, verb) {
		return fmt.Errorf("%s --json printed nothing", verb)
	}
	for i, value := range values {
		if object, ok := value.(map[string]any); ok && verb == "schema print" && object["$schema"] != nil {
			continue // its output is a schema
		}
		name := nameOfDocument(value)
		schema := all[name]
		if schema == nil {
			return fmt.Errorf("%s --json printed something that names no schema: %v", verb, value)
		}
		if err := schema.Validate(value); err != nil {
			return fmt.Errorf("%s --json printed %s, against its schema: %w", verb, name, err)
		}
		if name != "event" && i != len(values)-1 {
			return fmt.Errorf("%s --json printed %s, and more behind it", verb, name)
		}
		if len(values) > 1 && lines[i] != 1 {
			return fmt.Errorf("%s --json printed %s in %d lines, among others", verb, name, lines[i])
		}
		if err := claimed(verb, name, value, code); err != nil {
			return err
		}
	}
	return nil
}

// claimed checks that the verb declares a document, that the document's exit code equals code and that its next commands
// parse. It records the pair in seen.
func claimed(verb, name string, value any, code int) error {
	shape, _ := document.Named(name)
	pair := verb
	switch {
	case name == "error":
		pair = "every verb"
	case name == "help" && verb != "help":
		pair = "every verb with --help"
	}
	if !slices.Contains(shape.Commands, pair) {
		return fmt.Errorf("%s --json printed %s, which internal/document does not say of it", verb, name)
	}
	seen.Lock()
	defer seen.Unlock()
	if seen.pairs == nil {
		seen.pairs = map[string]bool{}
	}
	seen.pairs[name+" of "+pair] = true
	object := value.(map[string]any)
	if reported, ok := object["error"].(map[string]any); name == "error" && ok {
		object = reported
	}
	if reported, ok := object["exit_code"]; ok && name != "started" && fmt.Sprint(reported) != fmt.Sprint(code) {
		return fmt.Errorf("%s --json says exit_code %v, and ended with %d", verb, reported, code)
	}
	next, _ := value.(map[string]any)["next_commands"].([]any)
	for _, command := range next {
		if err := parses(fmt.Sprint(command)); err != nil {
			return fmt.Errorf("next_commands of %s: %v: %w", verb, command, err)
		}
	}
	return nil
}

// parses returns an error if a line of next_commands is not a valid command.
func parses(command string) error {
	words := shellWords(command)
	if len(words) == 0 || words[0] != cli.Program {
		return fmt.Errorf("it does not begin with %s", cli.Program)
	}
	p := newParser(cli.Console{Stdout: io.Discard, Stderr: io.Discard})
	arranged := arrange(p.Model, words[1:])
	if arranged.help {
		return nil
	}
	_, err := p.Parse(arranged.args)
	return err
}

// verbName returns the verb of a command line in the form of [leaves].
func verbName(args []string) string {
	p := newParser(cli.Console{Stdout: io.Discard, Stderr: io.Discard})
	arranged := arrange(p.Model, args)
	if parsed, err := p.Parse(arranged.args); err == nil {
		var names []string
		for n := parsed.Selected(); n != nil && n.Type == kong.CommandNode; n = n.Parent {
			names = append([]string{n.Name}, names...)
		}
		return strings.Join(names, " ")
	}
	return arranged.verb
}

// nameOfDocument returns the name of a value's schema, "" for none. Events have a member ts instead of a schema.
func nameOfDocument(value any) string {
	object, _ := value.(map[string]any)
	id, ok := object["schema"].(string)
	if !ok && object["ts"] != nil {
		return "event"
	}
	for _, s := range document.Shapes() {
		if s.ID() == id {
			return s.Name
		}
	}
	return ""
}

// documentsIn returns the JSON values in a text, and the number of lines of each.
func documentsIn(text string) (values []any, lines []int, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	from := int64(0)
	for {
		var value any
		if err := d.Decode(&value); errors.Is(err, io.EOF) {
			return values, lines, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("standard output is not JSON: %w", err)
		}
		to := d.InputOffset()
		values, lines = append(values, value), append(lines, strings.Count(strings.TrimLeft(text[from:to], "\n"), "\n")+1)
		from = to
	}
}

// U294: the page on scripting lists the documents of each verb, and a script for each exit code (make golden writes both).
func TestScriptingPage(t *testing.T) {
	const page = "../../docs/scripting.md"
	text := must(os.ReadFile(page))
	for name, table := range map[string]string{"documents": documentTable(), "exit codes": exitTable(t)} {
		begin, end := []byte("<!-- generated: "+name+" -->\n"), []byte("<!-- end -->")
		before, rest, found := bytes.Cut(text, begin)
		_, after, closed := bytes.Cut(rest, end)
		require(t, found && closed, name)
		text = slices.Concat(before, begin, []byte("\n"+table+"\n"), end, after)
	}
	golden(t, page, string(text))
}

// documentTable returns a table with a row for each verb that has documents.
func documentTable() string {
	var b strings.Builder
	b.WriteString("| verb | documents |\n|---|---|\n")
	for _, verb := range leaves(newParser(cli.Console{Stdout: io.Discard, Stderr: io.Discard}).Model.Node) {
		var links []string
		for _, s := range document.Shapes() {
			if slices.Contains(s.Commands, verb) {
				links = append(links, fmt.Sprintf("[%s](schema/output/%[1]s.json)", s.Name))
			}
		}
		if len(links) > 0 {
			fmt.Fprintf(&b, "| `%s` | %s |\n", verb, strings.Join(links, ", "))
		}
	}
	return b.String()
}

// exitTable returns a table with the first script that produces each exit code. A code without a script is an error.
func exitTable(t *testing.T) string {
	files := must(filepath.Glob("testdata/script/*.txtar"))
	var b strings.Builder
	b.WriteString("| code | when | produced by |\n|---|---|---|\n")
	for _, row := range cli.Exits {
		produced := regexp.MustCompile(fmt.Sprintf(`(?m)^exits %d agent-pipelines |^grep '\^%[1]d\$' code$`, row.Code))
		i := slices.IndexFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && produced.Match(text)
		})
		if i < 0 {
			t.Errorf("no script produces exit code %d", row.Code)
			continue
		}
		fmt.Fprintf(&b, "| %d | %s | `%s` |\n", row.Code, row.When, filepath.Base(files[i]))
	}
	return b.String()
}

// A command in a hint becomes a next command only if a shell executes it unchanged.
func TestNextLines(t *testing.T) {
	for hint, want := range map[string][]string{
		"`agent-pipelines resume s` continues; or `agent-pipelines status s`": {"agent-pipelines resume s", "agent-pipelines status s"},
		"`agent-pipelines tail a; id --json` prints":                          {},
		"`agent-pipelines tail $(id)`, `agent-pipelines help \"x`":            {},
		"`agent-pipelines start NAME`, `agent-pipelines logs <session>`":      {},
		"`rm -r x`": {},
	} {
		got := (cli.Fault{Hint: hint}).NextCommands()
		require(t, slices.Equal(got, want), hint, got, want)
	}
}
