package sandboxpolicy

import (
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Read reads the value of the key sandbox: a mode, or a map. It returns nil for null and for a nil node, and adds every
// fault to the document's list.
func Read(d yamldoc.Document, n *yamldoc.Node) *plan.Sandbox {
	if n == nil {
		return nil
	}
	r := reader{dialect.NewMap(d, n, "sandbox")}
	switch n.Kind {
	case yamldoc.Null:
		return nil
	case yamldoc.Text:
		return &plan.Sandbox{Mode: plan.SandboxMode(r.choice(dialect.Member{Node: n, Key: "sandbox"}, "mode"))}
	case yamldoc.Map:
		return r.readObject()
	default:
		r.WrongItem(n, "sandbox", "none, workspace, strict or a map")
		return nil
	}
}

// reader reads the long form of sandbox.
type reader struct{ dialect.Map }

func (r reader) readObject() *plan.Sandbox {
	s := &plan.Sandbox{Read: r.paths("read"), Write: r.paths("write"), Memory: r.size("memory")}
	r.Decode(&dialect.Sandbox, s)
	for _, key := range dialect.Sandbox.Names() { // elsewhere an empty value counts as absent, but here that would confine less
		if n := r.Node.Get(key); n != nil && n.Kind == yamldoc.Text && n.Source == "" {
			r.Errorf(n.Pos, yamldoc.CodeChoice, "write its value, or remove the key", "%s is empty", key)
		}
	}
	switch network := r.Get("network"); {
	case network.Node == nil:
	case network.Kind != yamldoc.Bool:
		s.Network = plan.Network(r.choice(network, "network"))
	case network.Any() == true: // true means on and false means off, because YAML 1.1 reads on and off as booleans
		s.Network = plan.NetworkOn
	default:
		s.Network = plan.NetworkOff
	}
	if rest := *s; s.Mode == plan.SandboxNone {
		if rest.Mode = ""; rest.IsRequested() {
			r.Errorf(r.Node.Pos, yamldoc.CodeConflict, "leave out mode, or the other keys", "mode none contradicts the other keys of sandbox")
		}
	}
	return s
}

// choice reads one of the choices of a field.
func (r reader) choice(v dialect.Member, field string) string {
	choices := dialect.Sandbox.Choices(field)
	if !slices.Contains(choices, v.Source) {
		r.Errorf(v.Pos, yamldoc.CodeChoice, dialect.DidYouMean(v.Source, choices), "unknown %s %q", v.Key, v.Source)
		return ""
	}
	return v.Source
}

// paths reads a path or a list of paths. It returns nil only if the key is absent.
func (r reader) paths(key string) []string {
	v := r.Get(key)
	if v.Node == nil {
		return nil
	}
	items := []*yamldoc.Node{v.Node}
	if v.Kind == yamldoc.List {
		items = v.Items
	}
	paths := make([]string, 0, len(items))
	for _, item := range items {
		switch {
		case item.Kind != yamldoc.Text:
			r.WrongItem(item, "a path in "+key, "text")
		case strings.TrimSpace(item.Source) == "" || strings.ContainsRune(item.Source, 0):
			r.Errorf(item.Pos, yamldoc.CodeChoice, "", "%q in %s is not a path", item.Source, key)
		default:
			paths = append(paths, item.Source)
		}
	}
	return paths
}

func (r reader) size(key string) int64 {
	v := r.Get(key)
	switch {
	case v.Node == nil:
		return 0
	case v.Kind != yamldoc.Number && v.Kind != yamldoc.Text:
		r.WrongType(v, "a size such as 2G")
		return 0
	}
	size, err := ParseSize(v.Source)
	if err != nil {
		r.Errorf(v.Pos, yamldoc.CodeRange, "write bytes, or a size such as 512M or 2G", "%s: %v", key, err)
	}
	return size
}
