package store

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// DeclaredOutput is the name in the project of a node's output_path, "" without one. The providers of a parallel
// block would write over each other's, so each has it in its own folder.
func DeclaredOutput(p *plan.Plan, n *plan.Node, session string, at event.Location) string {
	name := strings.NewReplacer("${SESSION}", session, "${SESSION_NAME}", session).Replace(n.OutputPath)
	scope, err := Provider(p, at)
	if name == "" || at.Branch == "" || err != nil {
		return name
	}
	return path.Join(RunsDir, session, string(scope), path.Clean("/"+filepath.ToSlash(name)))
}
