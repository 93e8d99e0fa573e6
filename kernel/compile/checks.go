package compile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// mergeChecks returns the checks of a node: those of its stage, without those whose ids the node repeats, then the
// node's own. It returns nil for no checks. s is nil for a node without a stage.
func mergeChecks(c *compiler, a sources.Node, s *sources.Stage) []plan.Check {
	nodeChecks := sources.ReadChecks(a.Map, a.Label)
	merged := nodeChecks
	if s != nil {
		ids := map[string]bool{}
		for _, m := range nodeChecks {
			ids[m.Source("id")] = true
		}
		merged = slices.DeleteFunc(sources.ReadChecks(s.Map, "the stage "+s.Dir.Name), func(m dialect.Map) bool { return ids[m.Source("id")] })
		merged = slices.Concat(merged, nodeChecks)
	}
	return compileChecks(c, merged)
}

// compileChecks reads the checks and reports repeated ids.
func compileChecks(c *compiler, all []dialect.Map) []plan.Check {
	if len(all) == 0 {
		return nil
	}
	if _, ok := c.Catalog.HookAction(plan.ActionCheck); !ok {
		all[0].Errorf(all[0].Node.Pos, yamldoc.CodeAction, dialect.DidYouMean(plan.ActionCheck, c.Catalog.HookActions()), "checks need the hook action %q, which no plugin has", plan.ActionCheck)
	}
	checks := make([]plan.Check, 0, len(all))
	first := map[string]yamldoc.Pos{}
	for _, m := range all {
		check := sources.ReadCheck(m)
		id := m.Location(m.Get("id")).Pos
		if at, twice := first[check.ID]; twice && check.ID != "" {
			m.Errorf(id, yamldoc.CodeRepeated, "give each check its own id", "check id %q is repeated, first in line %d", check.ID, at.Line)
		}
		first[check.ID] = id
		checks = append(checks, check)
		c.checkSources[&checks[len(checks)-1]] = m // the slice has enough capacity and does not move
	}
	return checks
}

var commandReference = regexp.MustCompile(`\$\{COMMANDS\.([^}]*)\}`)

// fillCommands replaces the references to commands in all nodes of p, whose paths in the plan root begin with outer.
// Embedded plans are shared, but their commands differ. Therefore embedded plans with references are copied.
func fillCommands(c *compiler, root, p *plan.Plan, outer string) {
	fill := func(n *plan.Node) {
		if !hasCommands(*n) {
			return
		}
		commands := root.EffectiveCommands(&plan.Node{Path: outer + n.Path, Commands: n.Commands})
		n.Checks, n.Wraps = checksWithCommands(c, n, commands), wrapsWithCommands(c, n.Wraps, commands)
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		fill(n)
		for j := range n.Stages {
			fill(&n.Stages[j])
		}
		if n.Plan != nil && planHasCommands(n.Plan) {
			n.Plan = copyPlan(n.Plan)
			fillCommands(c, root, n.Plan, outer+n.Path+".")
		}
	}
}

// hasCommands reports whether a node has texts that may reference commands.
func hasCommands(n plan.Node) bool { return len(n.Checks) > 0 || n.Wraps != nil && n.Wraps.Run != "" }

// planHasCommands reports whether a node of the plan, or of an embedded plan, has texts that may reference commands.
func planHasCommands(p *plan.Plan) bool {
	for n := range p.All() {
		if hasCommands(*n) || slices.ContainsFunc(n.Stages, hasCommands) {
			return true
		}
	}
	return false
}

// copyPlan returns a copy of the plan with copies of its nodes and of the stages of its blocks.
func copyPlan(p *plan.Plan) *plan.Plan {
	duplicate := *p
	duplicate.Nodes = slices.Clone(p.Nodes)
	for i := range duplicate.Nodes {
		duplicate.Nodes[i].Stages = slices.Clone(duplicate.Nodes[i].Stages)
	}
	return &duplicate
}

// checksWithCommands returns the checks of a node with the references to commands replaced.
func checksWithCommands(c *compiler, n *plan.Node, commands map[string]string) []plan.Check {
	checks := slices.Clone(n.Checks)
	for i := range checks {
		var config map[string]any
		decoder := json.NewDecoder(bytes.NewReader(checks[i].Config))
		decoder.UseNumber()
		if !bytes.Contains(checks[i].Config, []byte("${COMMANDS.")) || decoder.Decode(&config) != nil {
			continue
		}
		if report, _ := config["report"].(string); missingCommand(json.RawMessage(report), commands) != "" {
			delete(config, "report") // the command prints its report
			checks[i].Config, _ = json.Marshal(config)
		}
		m := c.checkSources[&n.Checks[i]]
		if name := missingCommand(checks[i].Config, commands); checks[i].Optional && name != "" {
			checks[i].SkipReason = fmt.Sprintf("there is no command %q", name)
			m.Warnf(m.Node.Pos, yamldoc.CodeLeftOut, fmt.Sprintf("name it: commands: {%s: …} in .claude/config.yaml, or %s %[1]s='…'", name, c.OverrideLabel("command")),
				"check %q is left out: %s", checks[i].ID, checks[i].SkipReason)
			continue
		}
		for key, v := range config {
			at := m.Location(m.Get(key))
			if key == "command" {
				at = m.Location(m.Get("command", "run"))
			}
			config[key] = replaceCommands(c, v, commands, at)
		}
		if text, err := json.Marshal(config); err == nil {
			checks[i].Config = text
		}
	}
	return checks
}

// wrapsWithCommands returns the wraps of a node with the references to commands replaced; nil for no wraps.
func wrapsWithCommands(c *compiler, w *plan.Wraps, commands map[string]string) *plan.Wraps {
	if w == nil || w.Run == "" {
		return w
	}
	filled := *w
	filled.Run, _ = replaceCommands(c, w.Run, commands, c.wrapsLocations[w]).(string)
	return &filled
}

// missingCommand returns the first referenced command that is missing or empty; "" for none.
func missingCommand(config json.RawMessage, commands map[string]string) string {
	for _, reference := range commandReference.FindAllSubmatch(config, -1) {
		if name := string(reference[1]); strings.TrimSpace(commands[name]) == "" {
			return name
		}
	}
	return ""
}

// replaceCommands returns the value with ${COMMANDS.<key>} replaced in every text, and reports unknown keys.
func replaceCommands(c *compiler, v any, commands map[string]string, at dialect.Location) any {
	switch v := v.(type) {
	case string:
		return commandReference.ReplaceAllStringFunc(v, func(reference string) string {
			name := commandReference.FindStringSubmatch(reference)[1]
			command, known := commands[name]
			if !known {
				var names []string
				for key := range commands {
					names = append(names, key)
				}
				at.Errorf(yamldoc.CodeCommand, dialect.DidYouMean(name, names)+"; name it under commands: in .claude/config.yaml, or by "+c.OverrideLabel("command"), "unknown command %q in %s", name, reference)
			}
			return command
		})
	case []any:
		for i := range v {
			v[i] = replaceCommands(c, v[i], commands, at)
		}
	case map[string]any:
		for key := range v {
			v[key] = replaceCommands(c, v[key], commands, at)
		}
	}
	return v
}
