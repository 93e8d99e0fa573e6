package sandboxpolicy

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Words are what those who have a say ask for one component.
type Requests struct {
	// User is the user's: the command line over the user's file of settings.
	User *plan.Sandbox
	// Author is the pipeline's over that of the project's file of settings. It can only narrow what the
	// user says.
	Author *plan.Sandbox
	// Trusted: the user trusts the project, so that its author may grant paths beside the user's and leave
	// components unconfined.
	Trusted bool
}

// Demand is what holds: the stricter word on each member, and the paths of those who may grant them. Where
// nobody asks for isolation its mode is "", or none where that was said by somebody whose word counts.
// Ignored are the paths that do not count, as they were written.
func (w Requests) Demand() (d plan.Sandbox, ignored []string) {
	author := *w.Author.Complete()
	if author.Mode == plan.SandboxNone && !w.Trusted {
		author = plan.Sandbox{}
	}
	d = *author.Within(w.User)
	user := w.User.Complete()
	if user.Asks() && !w.Trusted {
		ignored = slices.Concat(d.Read, d.Write)
		d.Read, d.Write = nil, nil
	}
	d.Read, d.Write = slices.Concat(user.Read, d.Read), slices.Concat(user.Write, d.Write)
	return d, ignored
}
