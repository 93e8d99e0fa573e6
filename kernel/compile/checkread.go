package compile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// checkObjects returns the objects of the key checks.
func (m object) checkObjects(what string) []object {
	items, _ := m.list("checks")
	list := make([]object, 0, len(items))
	for i, item := range items {
		if item.Kind != yamldoc.Map {
			m.wrongItem(item, "a check", "a map")
			continue
		}
		list = append(list, m.nested(item, fmt.Sprintf("check %d of %s", i+1, what)))
	}
	return list
}

// readCheck reads one check.
func (m object) readCheck() plan.Check {
	c := plan.Check{ID: m.requiredText("id"), Timeout: m.secondsOr("timeout", "the action's own limit")}
	if c.ID != "" && !checkIDPattern.MatchString(c.ID) {
		m.Errorf(m.get("id").Pos, yamldoc.CodeIdentifier, "ids become names of files", "check id %q must be 1 to 64 letters, digits, dots, dashes and underscores", c.ID)
	}
	c.At = oneOf[string](m, "at", &dialect.Check)
	c.FilesFrom, _ = m.text("files_from")
	c.Optional = m.boolean("optional")
	m.requiredText("type")
	if m.has("run") && m.has("command") {
		m.Errorf(m.keyPos("run"), yamldoc.CodeConflict, "keep one of the two", "%s has run and command, which mean the same", m.label)
	}
	config, kernelKeys := yamldoc.Node{Kind: yamldoc.Map}, dialect.KernelCheckKeys() // all other keys belong to the hook action check
	for _, e := range m.node.Entries {
		if slices.Contains(kernelKeys, e.Key) || strings.HasPrefix(e.Key, "x-") {
			continue
		}
		config.Entries = append(config.Entries, translateCheckEntry(e))
	}
	c.Config = config.JSON()
	return c
}

// translateCheckEntry translates a member of a check to the key and value of the hook action.
func translateCheckEntry(e yamldoc.Entry) yamldoc.Entry {
	switch e.Key {
	case "run":
		e.Key = "command"
	case "type":
		if name, known := checkTypes[trimNewlines(e.Value.Source)]; known && e.Value.Kind == yamldoc.Text {
			e.Value = &yamldoc.Node{Pos: e.Value.Pos, Kind: yamldoc.Text, Source: name}
		}
	}
	return e
}

var (
	checkIDPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	// checkTypes maps the dialect's check types to those of the hook action check.
	checkTypes = map[string]string{"file_exists": "file", "file_content": "content"}
)
