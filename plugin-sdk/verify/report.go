package verify

import "slices"

// ReportVersion is the version of [Report]'s JSON form. It changes when a field changes its meaning or
// goes; new fields and new rows do not change it.
const ReportVersion = 1

// Result is how a row ended.
type Result string

// The results of a row.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	NotApplicable Result = "not_applicable"
)

// Row is one demand on one plugin, or on one of its components, and how it ended.
type Row struct {
	// ID is stable; see [Rows].
	ID string `json:"id"`
	// Component is "<kind> <name>" for the rows that are tried on each component, else "".
	Component string `json:"component,omitempty"`
	// Title says in one line what is demanded.
	Title  string `json:"title"`
	Result Result `json:"result"`
	// Seen is what was seen, or why the row is not applicable.
	Seen string `json:"seen,omitempty"`
	// Do is what the author can do about a failure, or give to make the row applicable.
	Do string `json:"do,omitempty"`
	// Milliseconds is how long the row took.
	Milliseconds int64 `json:"duration_ms"`
}

// Report is what [Run] found out.
type Report struct {
	// FormatVersion is [ReportVersion].
	FormatVersion int `json:"format_version"`
	// Plugin, PluginVersion and SDK are what the plugin says of itself, "" where it says nothing.
	Plugin        string `json:"plugin,omitempty"`
	PluginVersion string `json:"plugin_version,omitempty"`
	SDK           string `json:"sdk,omitempty"`
	// Command is the command line that was started, Platform the operating system and architecture.
	Command  []string `json:"command"`
	Platform string   `json:"platform"`
	// Passed, Failed and NotApplicable count the rows.
	Passed        int `json:"passed"`
	Failed        int `json:"failed"`
	NotApplicable int `json:"not_applicable"`
	// Rows stand in the order of the table.
	Rows         []Row `json:"rows"`
	Milliseconds int64 `json:"duration_ms"`
}

// OK says whether no row failed.
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

// keep drops the rows that were not asked for, unless they failed: what was asked for needs them. No ids
// keep all.
func keep(rows []Row, ids []string) []Row {
	return slices.DeleteFunc(rows, func(r Row) bool { return !asked(r, ids) })
}

func asked(r Row, ids []string) bool {
	return len(ids) == 0 || slices.Contains(ids, r.ID) || r.Result == Fail
}
