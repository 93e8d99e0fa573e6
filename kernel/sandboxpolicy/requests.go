package sandboxpolicy

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Requests are the sandbox settings for one component.
type Requests struct {
	// User is the user's: the command line over the user's configuration file.
	User *plan.Sandbox
	// Author is the pipeline's over that of the project's configuration file. It can only narrow the user's.
	Author *plan.Sandbox
	// Trusted means that the user trusts the project: its author may grant paths beside the user's, and may leave
	// components unconfined.
	Trusted bool
}

// Resolve returns the effective settings: the stricter value of each member, and the allowed paths. Without a
// request for isolation the mode is "", or none if an allowed request says so. ignored are the paths that the
// author may not grant, as written.
func (r Requests) Resolve() (d plan.Sandbox, ignored []string) {
	author := *r.Author.Complete()
	if author.Mode == plan.SandboxNone && !r.Trusted {
		author = plan.Sandbox{}
	}
	d = *author.Restrict(r.User)
	user := r.User.Complete()
	if user.IsRequested() && !r.Trusted {
		ignored = slices.Concat(d.Read, d.Write)
		d.Read, d.Write = nil, nil
	}
	d.Read, d.Write = slices.Concat(user.Read, d.Read), slices.Concat(user.Write, d.Write)
	return d, ignored
}
