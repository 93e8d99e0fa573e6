package sandboxpolicy

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Read reads the value of the key sandbox: a mode, or a map. It returns nil for null, and adds every fault to the
// document's list.
func Read(d yamldoc.Document, n *yamldoc.Node) *plan.Sandbox {
	r := reader{dialect.NewMap(d, n, "sandbox")}
	switch n.Kind {
	case yamldoc.Null:
		return nil
	case yamldoc.Text:
		return &plan.Sandbox{Mode: plan.SandboxMode(r.choice("sandbox", n, "mode"))}
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
	r.CheckKeys(&dialect.Sandbox)
	s := &plan.Sandbox{}
	for _, e := range r.Node.Entries {
		v := e.Value
		if v.Kind == yamldoc.Null {
			continue
		}
		switch e.Key {
		case "mode":
			s.Mode = plan.SandboxMode(r.choice("mode", v, "mode"))
		case "network":
			s.Network = plan.Network(r.choice("network", onOffText(v), "network"))
		case "read":
			s.Read = r.paths(v, "read")
		case "write":
			s.Write = r.paths(v, "write")
		case "memory":
			s.Memory = r.size(v)
		case "processes":
			s.Processes = int(r.number(v, "processes", true))
		case "cpu":
			s.CPU = r.number(v, "cpu", false)
		}
	}
	if rest := *s; s.Mode == plan.SandboxNone {
		if rest.Mode = ""; rest.IsRequested() {
			r.Errorf(r.Node.Pos, yamldoc.CodeConflict, "leave out mode, or the other keys", "mode none contradicts the other keys of sandbox")
		}
	}
	return s
}

// onOffText returns on and off as text: YAML 1.1 reads them as booleans.
func onOffText(n *yamldoc.Node) *yamldoc.Node {
	if n.Kind != yamldoc.Bool {
		return n
	}
	w := *n
	w.Kind, w.Source = yamldoc.Text, string(plan.NetworkOff)
	if on, _ := n.Any().(bool); on {
		w.Source = string(plan.NetworkOn)
	}
	return &w
}

// choice reads one of the choices of a field; key names it in messages.
func (r reader) choice(key string, n *yamldoc.Node, field string) string {
	choices := dialect.Sandbox.Choices(field)
	switch {
	case n.Kind != yamldoc.Text:
		r.WrongItem(n, key, strings.Join(choices, ", "))
	case slices.Contains(choices, n.Source):
		return n.Source
	default:
		r.Errorf(n.Pos, yamldoc.CodeChoice, "write "+strings.Join(choices, ", "), "%s cannot be %q", key, n.Source)
	}
	return ""
}

// paths reads a path or a list of paths. It does not return nil.
func (r reader) paths(n *yamldoc.Node, key string) []string {
	items := []*yamldoc.Node{n}
	if n.Kind == yamldoc.List {
		items = n.Items
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

func (r reader) number(n *yamldoc.Node, key string, whole bool) float64 {
	f, err := strconv.ParseFloat(n.Source, 64)
	switch {
	case n.Kind != yamldoc.Number || err != nil:
		r.WrongItem(n, key, "a number")
	case f <= 0 || f > 1e9 || whole && f != math.Trunc(f):
		r.Errorf(n.Pos, yamldoc.CodeRange, "leave the key out for no limit", "%s cannot be %s", key, n.Source)
	default:
		return f
	}
	return 0
}

func (r reader) size(n *yamldoc.Node) int64 {
	if n.Kind != yamldoc.Number && n.Kind != yamldoc.Text {
		r.WrongItem(n, "memory", "a size such as 2G")
		return 0
	}
	size, err := ParseSize(n.Source)
	if err != nil {
		r.Errorf(n.Pos, yamldoc.CodeRange, "write bytes, or a size such as 512M or 2G", "memory: %v", err)
	}
	return size
}
