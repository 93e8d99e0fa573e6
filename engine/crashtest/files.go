package crashtest

import (
	"path"
	"slices"
	"strings"
)

// form says how a file is compared.
type form int

const (
	asText  form = iota // line by line
	asJSON              // member by member
	asYAML              // member by member
	asLines             // unique lines
	ignored             // not compared
)

// rule says how files with a name are compared. The name matches in any directory. A leading slash means the
// session's own directory; a trailing slash matches directories.
type rule struct {
	name string
	form form
	// drop lists JSON or YAML members that are not part of the outcome; * matches any member or element.
	drop []string
	why  string
}

// rules lists the files that are not compared byte by byte; the first match counts.
var rules = []rule{
	{name: "/events.jsonl", form: ignored, why: "compared event by event"},
	{name: "/events.jsonl.lock", form: ignored, why: "empty; holds a lock"},
	{name: "/head.json", form: ignored, why: "signs the end of a journal that a kill makes longer"},
	{name: "/events.jsonl.damaged-*", form: ignored, why: "old journal, renamed by a repair"},
	{name: "/history-*.json", form: ignored, why: "old state, renamed by a recovery"},
	{name: "/metrics.json", form: ignored, why: "counts interrupted attempts, and time"},
	{name: "attempts.jsonl", form: ignored, why: "one line per attempt, including interrupted ones"},
	{name: "attempts/", form: ignored, why: "private to one attempt"},
	{name: "calls.jsonl", form: ignored, why: "derived from tool calls, including those of interrupted attempts; the journal's are compared"},
	{name: "/state.json", form: asJSON, drop: []string{
		"started_at", "completed_at", "failed_at", "paused_at", "resumed_at", "iteration_started", "stages.*.timestamp",
		"stages.*.started_at", "history.*.timestamp", "error.timestamp", // times
		"run_id", "event_seq", "event_offset", // numbers of this run
		"current_attempt", "budget", "total_tokens_used", "total_cost_usd", // include interrupted attempts
		"scheduler", // repeats the state, with times and epochs
	}, why: "derived from the state; times and costs of repeated attempts vary"},
	{name: "state.json", form: asJSON, drop: []string{"started_at"}, why: "a block provider's state, with its time"},
	{name: "/plan.json", form: asJSON, drop: []string{
		"session.name", "session.created_at", "created_at", "compiled_at",
		"nodes.*.plan.session.created_at", "nodes.*.plan.compiled_at", // of embedded pipelines, two levels deep
		"nodes.*.plan.nodes.*.plan.session.created_at", "nodes.*.plan.nodes.*.plan.compiled_at",
	}, why: "contains the time of the compilation and the session"},
	{name: "manifest.json", form: asJSON, drop: []string{"completed_at"}, why: "contains the time of the block's completion"},
	{name: "context.json", form: asJSON, drop: []string{"limits.remaining_seconds", "budget.used"}, why: "contains the remaining time, and token counts of prompts with paths"},
	{name: "questions/*.json", form: asJSON, drop: []string{
		"asked_at", "answered_at", "due", // times
		"digest", "preview", // of the files shown, which are compared separately and may contain times
	}, why: "contains the times of question and answer"},
	{name: "escalations/*.yaml", form: asYAML, drop: []string{"created_at", "due", "resolution.at"}, why: "contains the times of question and answer"},
	{name: "/artifacts/*.yaml", form: asYAML, drop: []string{"_artifact_meta.created_at", "_metadata.duration_seconds"}, why: "contains time and duration"},
	{name: "checks/artifact.yaml", form: asYAML, drop: []string{"_artifact_meta.created_at", "_metadata.duration_seconds"}, why: "contains time and duration"},
	{name: "checks/*.json", form: asJSON, drop: []string{"duration_ms"}, why: "contains the duration"},
	{name: "judge.json", form: asJSON, drop: []string{"timestamp"}, why: "may contain times"},
	{name: "*.json", form: asJSON, why: "digests are compared with the files"},
	{name: "progress*.md", form: asLines, why: "agents of repeated attempts append again"},
}

// findRule returns the rule for a file or directory; by default files are compared as text.
func findRule(name string, dir bool) rule {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.matches(name, dir) })
	if i < 0 {
		return rule{}
	}
	return rules[i]
}

func (r rule) matches(name string, dir bool) bool {
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

// value returns a file's content for comparison. A file that cannot be parsed is compared as text.
func (r reader) value(rule rule, b []byte) any {
	switch rule.form {
	case asJSON:
		if v, ok := decodeJSON(b); ok {
			return r.normalize(v, rule.drop)
		}
	case asYAML:
		if v, ok := decodeYAML(b); ok {
			return r.normalize(v, rule.drop)
		}
	case asLines:
		return r.replace(uniqueLines(string(b)))
	}
	return r.replace(string(b))
}

// uniqueLines keeps the first of equal lines.
func uniqueLines(text string) string {
	seen := map[string]bool{}
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
		known := seen[strings.TrimSpace(line)]
		seen[strings.TrimSpace(line)] = true
		return known
	})
	return strings.Join(lines, "")
}
