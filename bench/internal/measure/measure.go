package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// All measures all parts and returns the rows in order. It calls progress before each part. bash has figures of the
// Bash engine to compare some rows with; nil means none. only names the parts to measure; empty means all.
func All(ctx context.Context, g *ground.Ground, effort Effort, bash *Recorded, only []string, progress func(part string)) ([]table.Row, error) {
	b := &bench{g, effort}
	parts := b.parts()
	for _, name := range only {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return nil, fmt.Errorf("there is no part %q; the parts are %s", name, names(parts))
		}
	}
	if len(only) > 0 {
		parts = slices.DeleteFunc(parts, func(p part) bool { return !slices.Contains(only, p.name) })
	}
	var rows []table.Row
	for _, p := range parts {
		progress(p.name)
		more, err := p.make(ctx)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", p.name, err)
		}
		if bash != nil {
			more = bash.addTo(more, effort.Events[0])
		}
		for _, r := range more {
			r.Part = p.name
			rows = append(rows, r)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s has no rows here", strings.Join(only, ", "))
	}
	return rows, nil
}

// part makes some rows of the table.
type part struct {
	name string
	make func(context.Context) ([]table.Row, error)
}

// parts returns all parts, in the order of the table.
func (b *bench) parts() []part {
	return []part{
		{name: "iterations", make: b.iterations},
		{name: "age", make: b.long},
		{name: "context", make: b.contexts},
		{name: "briefs", make: b.briefs},
		{name: "calls", make: b.calls},
		{name: "journal", make: b.journal},
		{name: "snapshots", make: b.snapshots},
		{name: "events", make: b.events},
		{name: "starts", make: b.starts},
		{name: "pipelines", make: b.pipelines},
		{name: "blocks", make: b.blocks},
		{name: "tools", make: b.tools},
		{name: "memory", make: b.memory},
		{name: "sessions", make: b.sessions},
		{name: "binaries", make: b.binaries},
	}
}

func names(parts []part) string {
	var all []string
	for _, p := range parts {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}
