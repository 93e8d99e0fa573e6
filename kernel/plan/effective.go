package plan

import (
	"cmp"
	"maps"
)

// ContextOf returns a node's context text: the override's, else the node's own.
func (p *Plan) ContextOf(n *Node) string {
	if p.Pipeline.Overrides == nil {
		return n.Context
	}
	return cmp.Or(p.Pipeline.Overrides.Context, n.Context)
}

// CommandsOf returns a node's commands by name: those of the pipeline, under those of the stage,
// under those of the command line. The map is the caller's own and never nil.
func (p *Plan) CommandsOf(n *Node) map[string]string {
	commands := map[string]string{}
	maps.Copy(commands, p.Pipeline.Commands)
	maps.Copy(commands, n.Commands)
	if p.Pipeline.Overrides != nil {
		maps.Copy(commands, p.Pipeline.Overrides.Commands)
	}
	return commands
}
