package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// result returns the result of a case without values that differ between runs: its steps, the new, changed and
// removed files, the contents of the relevant files, and the calls of the fakes.
func (g *goldenCase) result(work string, without []string) ([]txtar.File, error) {
	var files, calls []txtar.File
	removed, changed := maps.Clone(g.before), map[string][]string{} // names by directory
	err := eachFile(work, func(rel string, content []byte) error {
		delete(removed, rel)
		call, called := strings.CutPrefix(rel, fakeDir+"/")
		switch {
		case called:
			calls = append(calls, txtar.File{Name: call, Data: content})
		case strings.HasPrefix(rel, "home/"), g.before[rel] == sha256.Sum256(content):
		default:
			changed[path.Dir(rel)] = append(changed[path.Dir(rel)], path.Base(rel))
			if len(content) > 0 && shown(rel, without) {
				files = append(files, txtar.File{Name: rel, Data: readable(rel, content)})
			}
		}
		return nil
	})
	var tree strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(changed)) {
		fmt.Fprintf(&tree, "%s: %s\n", dir, strings.Join(changed[dir], " "))
	}
	for _, rel := range slices.Sorted(maps.Keys(removed)) {
		fmt.Fprintf(&tree, "gone: %s\n", rel)
	}
	head := []txtar.File{{Name: "steps", Data: []byte(g.steps.String())}, {Name: "tree", Data: []byte(tree.String())}}
	files = slices.Concat(head, files, calls)
	for i, f := range files {
		files[i] = txtar.File{Name: neutral(f.Name, work), Data: []byte(ended(neutral(string(f.Data), work)))}
	}
	return files, err
}

// compared lists the files whose contents are compared.
var compared = []string{
	"plan.json", "state.json", "context.json", "result.json", "output.md", "run-*.md", "progress*.md", "events.jsonl", "manifest.json",
	"judge.json", "loop-completions.json", "error.json", "*.lock", "*.txt",
}

func shown(rel string, without []string) bool {
	matches := func(pattern string) bool {
		base, _ := path.Match(pattern, path.Base(rel))
		whole, _ := path.Match(pattern, rel)
		return base || whole
	}
	return slices.ContainsFunc(compared, matches) && !slices.ContainsFunc(without, matches) && !strings.Contains(rel, "/attempts/")
}

// readable formats JSON files and journals for review.
func readable(rel string, content []byte) []byte {
	switch {
	case path.Base(rel) == "events.jsonl":
		return journalLines(content)
	case path.Ext(rel) == ".json":
		return spread(content)
	}
	return content
}

// neutral replaces the paths, times and numbers of one run in a text.
func neutral(text, work string) string {
	text = strings.NewReplacer(filepath.Join(work, "home"), "<HOME>", filepath.Join(work, ".claude/pipeline-runs"), "<RUNS>", work, "<WORK>", programs, "<PROGRAMS>").Replace(text)
	for _, r := range passing {
		text = r.pattern.ReplaceAllString(text, r.with)
	}
	return text
}

var passing = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^(.*slow journal write|.*process that an earlier run left behind|survivor_ended ).*\n`), ""}, // only on a busy machine
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<TIME>"},
	{regexp.MustCompile(`PL-\d{14}-[0-9a-f]{8}`), "<RUN>"},
	{regexp.MustCompile(`-\d{8}-\d{6}\b`), "-<STAMP>"},
	{regexp.MustCompile(`"id":"[0-9a-f]{16}"`), `"id":"<ID>"`},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "<SHA256>"},
	{regexp.MustCompile(`"size":\d+`), `"size":<SIZE>`},
	{regexp.MustCompile(`"remaining_seconds":\d+`), `"remaining_seconds":<SECONDS>`},
	{regexp.MustCompile(`((?:\b[Pp][Ii][Dd][:=]?|"pid":) ?)\d+`), "$1<PID>"},
	{regexp.MustCompile(`\[\d\d:\d\d:\d\d\]`), "[<CLOCK>]"},
	{regexp.MustCompile(`\b(\d+[dhms])+ ago +`), "<AGE> ago  "}, // padded in a column
	{regexp.MustCompile(`\b(\d+[dhms])+ ago`), "<AGE> ago"},
	{regexp.MustCompile(`(?m)^(\s*(?:║  )?(?:Duration|Time): +)\S+$`), "${1}<AGE>"},
}

// ended adds a missing line end to a text, with a note.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n\\ no end of line\n"
}

// spread formats JSON with one line per member of the outermost object and per element of its lists. It omits the
// scheduler's state, whose decisions show elsewhere, and the number of events.
func spread(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return compact(text)
	}
	var members []string
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return text
		}
		if key == "scheduler" || key == "event_seq" {
			continue
		}
		members = append(members, fmt.Sprintf("  %q: %s", key, listLines(value)))
	}
	return []byte("{\n" + strings.Join(members, ",\n") + "\n}\n")
}

func listLines(value json.RawMessage) []byte {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil || len(list) < 2 {
		return bytes.TrimSpace(compact(value))
	}
	var lines []string
	for _, element := range list {
		lines = append(lines, "    "+string(bytes.TrimSpace(compact(element))))
	}
	return []byte("[\n" + strings.Join(lines, ",\n") + "\n  ]")
}

func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil {
		return text
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// journalLines formats each event as type, location and data. It groups the lines of parallel providers, whose order is
// not determined, and omits the starts of plugin processes.
func journalLines(text []byte) []byte {
	type line struct {
		kind     event.Type
		provider string
		text     string
	}
	var lines []line
	for raw := range bytes.Lines(text) {
		var e event.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			lines = append(lines, line{text: "not an event: " + string(raw)})
			continue
		}
		if e.Type == event.PluginStarted {
			continue
		}
		place, provider := "-", ""
		if c := e.Cursor; c != nil {
			provider = c.Provider
			place = strings.TrimSuffix(fmt.Sprintf("%s/%d/%d/%s", c.NodePath, c.NodeRun, c.Iteration, provider), "/")
		}
		lines = append(lines, line{e.Type, provider, fmt.Sprintf("%s %s %s\n", e.Type, place, ownData.ReplaceAll(e.Data, nil))})
	}
	for start := 0; start < len(lines); start++ {
		end := start
		for end < len(lines) && lines[end].provider != "" {
			end++
		}
		slices.SortStableFunc(lines[start:end], func(a, b line) int { return cmp.Compare(a.provider, b.provider) })
		start = max(start, end-1)
	}
	var out bytes.Buffer
	for _, l := range lines {
		out.WriteString(l.text)
	}
	return out.Bytes()
}

// ownData matches the members of an event's data that differ between runs.
var ownData = regexp.MustCompile(`,?"(sha256|size|plan_sha256|duration_ms|pid|start_time|version)":("[^"]*"|\d+)`)
