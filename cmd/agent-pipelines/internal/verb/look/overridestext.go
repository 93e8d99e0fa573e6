package look

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// StartText is the node that the run begins with, "" for the first one.
func StartText(p *plan.Plan) string {
	if o := p.Pipeline.Overrides; o != nil && o.Start != "" {
		return o.Start + " (--start)"
	}
	return ""
}

// ExitText is the node after which the pipeline is complete, "" for the end of the list.
func ExitText(p *plan.Plan) string {
	id := p.ExitAfter()
	switch {
	case id == "":
		return ""
	case p.Pipeline.Overrides != nil && p.Pipeline.Overrides.ExitAfter == id:
		return id + " (--exit-after)"
	default:
		return id + " (exit_after)"
	}
}

// OverridesText is what the command line says over the file, as flags; "" for nothing.
func OverridesText(o *plan.Overrides) string {
	if o == nil {
		return ""
	}
	var flags []string
	add := func(said bool, format string, args ...any) {
		if said {
			flags = append(flags, fmt.Sprintf(format, args...))
		}
	}
	add(o.Start != "", "--start %s", o.Start)
	add(o.ExitAfter != "", "--exit-after %s", o.ExitAfter)
	add(o.Supervised, "--supervised")
	for _, id := range o.Iterate {
		add(true, "--iterate=%s", id)
	}
	for _, id := range o.Skip {
		add(true, "--skip %s", id)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Artifacts)) {
		add(true, "--artifact %s=%s", name, o.Artifacts[name])
	}
	add(o.Timeout > 0, "--timeout %s", strings.TrimSuffix(cli.SecondsText(o.Timeout), "s"))
	for _, id := range slices.Sorted(maps.Keys(o.Timeouts)) {
		add(true, "--timeout %s=%s", id, strings.TrimSuffix(cli.SecondsText(o.Timeouts[id]), "s"))
	}
	add(o.MaxCycles > 0, "--max-cycles %d", o.MaxCycles)
	add(o.Provider != "", "--provider %s", o.Provider)
	add(o.Model != "", "--model %s", o.Model)
	add(o.Mode != "", "--mode %s", o.Mode)
	return strings.Join(flags, " ")
}
