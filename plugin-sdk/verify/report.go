package verify

import "slices"

// ReportVersion is the version of [Report]'s JSON form. It changes when a field changes its meaning
// or is removed, not when fields or rows are added.
const ReportVersion = 1

// Result is the result of a row.
type Result string

// The results of a row.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	NotApplicable Result = "not_applicable"
)

// Row is a requirement on a plugin or one of its components, with its result.
type Row struct {
	// ID is stable: a later version may add IDs, but never reuses one.
	ID string `json:"id"`
	// Component is "<kind> <name>" for the rows on each component, such as "hook action webhook",
	// else "".
	Component string `json:"component,omitempty"`
	// Title is the requirement in one line.
	Title  string `json:"title"`
	Result Result `json:"result"`
	// Seen is the observation, or the reason why the row is not applicable.
	Seen string `json:"seen,omitempty"`
	// Do is the author's remedy for a failure, or the case that makes the row applicable.
	Do string `json:"do,omitempty"`
	// Milliseconds is the duration of the row.
	Milliseconds int64 `json:"duration_ms"`
}

// Report is the result of [Run].
type Report struct {
	// FormatVersion is [ReportVersion].
	FormatVersion int `json:"format_version"`
	// Plugin, PluginVersion and SDK are the plugin's own values, "" if missing.
	Plugin        string `json:"plugin,omitempty"`
	PluginVersion string `json:"plugin_version,omitempty"`
	SDK           string `json:"sdk,omitempty"`
	// Command is the started command line, Platform the operating system and architecture.
	Command  []string `json:"command"`
	Platform string   `json:"platform"`
	// Passed, Failed and NotApplicable count the rows.
	Passed        int `json:"passed"`
	Failed        int `json:"failed"`
	NotApplicable int `json:"not_applicable"`
	// Rows are in the order of the table.
	Rows         []Row `json:"rows"`
	Milliseconds int64 `json:"duration_ms"`
}

// OK reports whether no row failed.
func (r Report) OK() bool { return r.Failed == 0 }

func (r *Report) add(row Row) {
	r.Rows = append(r.Rows, row)
	switch row.Result {
	case Pass:
		r.Passed++
	case Fail:
		r.Failed++
	default:
		r.NotApplicable++
	}
}

// isRequested reports whether a row belongs in the report. Without IDs, every row does. A failed row does, too, because
// a requested row needs it.
func isRequested(r Row, ids []string) bool {
	return len(ids) == 0 || slices.Contains(ids, r.ID) || r.Result == Fail
}
