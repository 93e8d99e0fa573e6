package exchange

import (
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Report is the latest report of an agent, for live views.
type Report struct {
	Node      string         // the node's id
	At        event.Location // with the node's path and the step
	Branch    string         // the provider of a parallel block, "" outside
	Iteration int
	Attempt   int
	Progress  sdk.Progress
	Usage     *sdk.Usage
	Text      string // new output since the previous report
}

// reporter keeps the latest report and passes each report to live. It is safe for concurrent use.
type reporter struct {
	live func(Report) // may be nil

	mu   sync.Mutex // guards the fields below
	last Report
	text *redact.Stream // redacts the output
}

// update changes the latest report and passes it to live.
func (r *reporter) update(change func(*Report)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last.Text = ""
	change(&r.last)
	if r.live != nil {
		r.live(r.last)
	}
}

// flush reports the end of the text, which the redactor held back.
func (r *reporter) flush() {
	r.mu.Lock()
	rest := r.text.End()
	r.mu.Unlock()
	if rest != "" {
		r.update(func(last *Report) { last.Text = rest })
	}
}

// usage returns the last reported usage, nil for none.
func (r *reporter) usage() *sdk.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.Usage
}
