package sources

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// ReadChecks returns the maps under the key checks. owner names the node or stage in messages.
func ReadChecks(m dialect.Map, owner string) []dialect.Map {
	items, _ := m.List("checks")
	list := make([]dialect.Map, 0, len(items))
	for i, item := range items {
		if item.Kind != yamldoc.Map {
			m.WrongItem(item, "a check", "a map")
			continue
		}
		list = append(list, m.Nested(item, fmt.Sprintf("check %d of %s", i+1, owner)))
	}
	return list
}

// ReadCheck reads one check.
func ReadCheck(m dialect.Map) plan.Check {
	c := plan.Check{}
	m.Decode(&dialect.Check, &c)
	if c.ID != "" && !checkID.MatchString(c.ID) {
		m.Errorf(m.Get("id").Pos, yamldoc.CodeIdentifier, "ids become names of files", "check id %q must be 1 to 64 letters, digits, dots, dashes and underscores", c.ID)
	}
	if m.Has("run") && m.Has("command") {
		m.Errorf(m.KeyPos("run"), yamldoc.CodeConflict, "keep one of the two", "%s has run and command, which mean the same", m.Label)
	}
	config, kernelKeys := yamldoc.Node{Kind: yamldoc.Map}, dialect.KernelCheckKeys() // all other keys belong to the hook action check
	for _, e := range m.Node.Entries {
		if slices.Contains(kernelKeys, e.Key) || strings.HasPrefix(e.Key, "x-") {
			continue
		}
		config.Entries = append(config.Entries, translateCheckEntry(e))
	}
	c.Config = config.JSON()
	checkTestFirst(m, c)
	if c.Type() == plan.CheckDelivery && len(config.Entries) > 1 {
		m.Errorf(m.Node.Pos, yamldoc.CodeConflict, "keep id, type, at and timeout: the mode is that of the run", "%s measures a delivery, which has no other keys", m.Label)
	}
	return c
}

// checkTestFirst reports a check that cannot have its part in a test-first development.
func checkTestFirst(m dialect.Map, c plan.Check) {
	kind := m.Get("type")
	isTests := kind.Node != nil && dialect.TrimNewlines(kind.Source) == "tests"
	switch enters := c.At == plan.AtEnter; {
	case c.TestFirst == "":
	case !isTests:
		m.Errorf(m.KeyPos("test_first"), yamldoc.CodeConflict, "set type: tests", "%s has test_first and does not run tests", m.Label)
	case m.Has("expect"):
		m.Errorf(m.KeyPos("expect"), yamldoc.CodeConflict, "remove the line expect: the part of the check decides what must pass", "%s has test_first and expect", m.Label)
	case enters != (c.TestFirst == plan.TestFirstBase):
		m.Errorf(m.KeyPos("test_first"), yamldoc.CodeConflict, "test_first: base goes with at: enter, every other value with at: exit", "%s measures at the wrong moment", m.Label)
	}
}

// translateCheckEntry translates a member of a check to the key and value of the hook action.
func translateCheckEntry(e yamldoc.Entry) yamldoc.Entry {
	switch e.Key {
	case "run":
		e.Key = "command"
	case "type":
		if name, known := checkTypes[dialect.TrimNewlines(e.Value.Source)]; known && e.Value.Kind == yamldoc.Text {
			e.Value = &yamldoc.Node{Pos: e.Value.Pos, Kind: yamldoc.Text, Source: name}
		}
	}
	return e
}

var (
	checkID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	// checkTypes maps the dialect's check types to those of the hook action check.
	checkTypes = map[string]string{"file_exists": "file", "file_content": "content"}
)
