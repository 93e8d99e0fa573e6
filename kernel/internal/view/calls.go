package view

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// calls keeps calls.jsonl of the steps of nodes: the lines of the journal about the tool calls that were made for a
// step, in order. A file is written anew once, since a kernel that was killed may have left it behind the journal, and
// then added to.
type calls struct {
	before map[string][]byte // lines of files that were not written yet
	open   map[string]bool   // files that lines are added to
}

// observe takes up an event that the journal held already.
func (c *calls) observe(p *plan.Plan, e event.Event) {
	name, line := callLine(p, e)
	if name == "" {
		return
	}
	if c.before == nil {
		c.before = map[string][]byte{}
	}
	c.before[name] = append(c.before[name], line...)
}

// add writes the line of an event, if it is about a call for a step.
func (c *calls) add(dir *rundir.Dir, p *plan.Plan, e event.Event) error {
	name, line := callLine(p, e)
	switch {
	case name == "":
		return nil
	case c.open[name]:
		return dir.Append(name, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	c.observe(p, e)
	return c.write(dir, name)
}

// flush writes the files that are still to be written anew.
func (c *calls) flush(dir *rundir.Dir) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.before)) {
		errs = append(errs, c.write(dir, name))
	}
	return errors.Join(errs...)
}

func (c *calls) write(dir *rundir.Dir, name string) error {
	if err := dir.Replace(name, c.before[name]); err != nil {
		return err
	}
	if c.open == nil {
		c.open = map[string]bool{}
	}
	c.open[name] = true
	delete(c.before, name)
	return nil
}

// callLine is the line of an event about a call for a step, and the file that it belongs to; "" for any other event.
func callLine(p *plan.Plan, e event.Event) (name string, line []byte) {
	if e.Type != event.ToolCall && e.Type != event.ToolResult {
		return "", nil
	}
	_, at, _, ok := e.Key.Parse()
	if !ok || at.Step == "" {
		return "", nil
	}
	dir, err := rundir.At(p, at)
	if err != nil {
		return "", nil
	}
	if line, err = e.AppendLine(nil); err != nil {
		return "", nil
	}
	return dir.Calls(), line
}
