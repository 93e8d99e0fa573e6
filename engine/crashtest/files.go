package crashtest

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// form says how a file is compared.
type form int

const (
	asText  form = iota // line by line
	asJSON              // member by member
	asYAML              // the same
	asLines             // its lines, each once
	leftOut             // not at all
)

// rule is how files of a name are compared. Name is that of the file in any directory, with a leading slash that in the
// session's own, and with a trailing one that of a directory in any.
type rule struct {
	name string
	form form
	// drop are members of JSON and YAML that are no part of the outcome, with * for any member or element.
	drop []string
	why  string
}

// rules are the files that are not compared byte by byte; the first that fits counts.
var rules = []rule{
	{name: "/events.jsonl", form: leftOut, why: "compared event by event"},
	{name: "/events.jsonl.lock", form: leftOut, why: "empty, and only there to be locked"},
	{name: "/events.jsonl.damaged-*", form: leftOut, why: "what a repair put aside: the way, not the end"},
	{name: "/history-*.json", form: leftOut, why: "what a recovery put aside"},
	{name: "/metrics.json", form: leftOut, why: "counts attempts that were cut off, and time"},
	{name: "attempts.jsonl", form: leftOut, why: "a line for each attempt, those that were cut off too"},
	{name: "attempts/", form: leftOut, why: "private to one attempt"},
	{name: "calls.jsonl", form: leftOut, why: "a view of tool calls, those of attempts that were cut off too; the journal's are compared"},
	{name: "/state.json", form: asJSON, drop: []string{
		"started_at", "completed_at", "failed_at", "paused_at", "resumed_at", "iteration_started", "stages.*.timestamp",
		"stages.*.started_at", "history.*.timestamp", "error.timestamp", // times
		"run_id", "event_seq", "event_offset", // numbers of this one run
		"current_attempt", "budget", "total_tokens_used", "total_cost_usd", // count attempts that were cut off, too
		"scheduler", // repeats all of it, with times and epochs
	}, why: "the view of the state without times, and without what an attempt costs that is made again"},
	{name: "state.json", form: asJSON, drop: []string{"started_at"}, why: "a provider's state in a block, with its time"},
	{name: "/plan.json", form: asJSON, drop: []string{
		"session.name", "session.created_at", "created_at", "compiled_at",
		"nodes.*.plan.session.created_at", "nodes.*.plan.compiled_at", // of a pipeline within, and of one within that
		"nodes.*.plan.nodes.*.plan.session.created_at", "nodes.*.plan.nodes.*.plan.compiled_at",
	}, why: "says when it was compiled, and for which session"},
	{name: "manifest.json", form: asJSON, drop: []string{"completed_at"}, why: "says when the block was complete"},
	{name: "context.json", form: asJSON, drop: []string{"limits.remaining_seconds", "budget.used"}, why: "says how much time is left; tokens of a prompt with paths in it"},
	{name: "questions/*.json", form: asJSON, drop: []string{
		"asked_at", "answered_at", "due", // times
		"digest", "preview", // of the files shown, which are compared themselves and may have times
	}, why: "says when it was asked and answered"},
	{name: "escalations/*.yaml", form: asYAML, drop: []string{"created_at", "due", "resolution.at"}, why: "says when it was asked and answered"},
	{name: "/artifacts/*.yaml", form: asYAML, drop: []string{"_artifact_meta.created_at", "_metadata.duration_seconds"}, why: "the kernel says in it when it was made, and how long that took"},
	{name: "checks/artifact.yaml", form: asYAML, drop: []string{"_artifact_meta.created_at", "_metadata.duration_seconds"}, why: "the same of what checks are shown"},
	{name: "checks/*.json", form: asJSON, drop: []string{"duration_ms"}, why: "says how long it took"},
	{name: "judge.json", form: asJSON, drop: []string{"timestamp"}, why: "may say when"},
	{name: "*.json", form: asJSON, why: "names files by digests, which are held against the files"},
	{name: "progress*.md", form: asLines, why: "agents append to it, also those whose attempt was cut off and made again"},
}

// ruleOf finds how a file, or a directory, is compared; whole and as a text where no rule says otherwise.
func ruleOf(name string, dir bool) rule {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.fits(name, dir) })
	if i < 0 {
		return rule{}
	}
	return rules[i]
}

func (r rule) fits(name string, dir bool) bool {
	pattern, tree := strings.CutSuffix(r.name, "/")
	if tree != dir {
		return false
	}
	pattern, anchored := strings.CutPrefix(pattern, "/")
	if !anchored {
		elements := strings.Split(name, "/")
		name = strings.Join(elements[max(0, len(elements)-strings.Count(pattern, "/")-1):], "/")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// value is a file's content as it is compared. A file that is not of its form is compared as a text.
func (r reader) value(rule rule, b []byte) any {
	switch rule.form {
	case asJSON:
		if v, ok := decodeJSON(b); ok {
			return r.clean(v, rule.drop)
		}
	case asYAML:
		if v, ok := decodeYAML(b); ok {
			return r.clean(v, rule.drop)
		}
	case asLines:
		return r.plain(once(string(b)))
	}
	return r.plain(string(b))
}

// once is a text with each of its lines where it is first.
func once(text string) string {
	seen := map[string]bool{}
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
		was := seen[strings.TrimSpace(line)]
		seen[strings.TrimSpace(line)] = true
		return was
	})
	return strings.Join(lines, "")
}

func decodeJSON(b []byte) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		return nil, false
	}
	return v, true
}

// decodeYAML reads a document in the shape that [decodeJSON] gives.
func decodeYAML(b []byte) (any, bool) {
	tree, faults := yamldoc.ParseData(b)
	if tree == nil || len(faults) > 0 {
		return nil, false
	}
	return decodeJSON(tree.JSON())
}
