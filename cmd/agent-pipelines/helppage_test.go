package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/machine"
)

// docs/cli.md is generated from the command's help, exit codes and environment (make golden writes it).
func TestHelpPage(t *testing.T) {
	p := helpPage{t: t, shared: map[string][]*kong.Flag{}}
	root := newTestParser().Model.Node
	p.text.WriteString(strings.ReplaceAll(helpPageIntro, "~", "`"))
	for _, child := range root.Children {
		if !child.Hidden && child.Name != cli.StageCommand {
			fmt.Fprintf(&p.text, "| [`%s`](#%s) | %s |\n", named(child), anchored(child), child.Help)
		}
	}
	p.text.WriteString("\n## Flags of every verb\n\nThey stand anywhere on the line, before the verb, too.\n\n")
	p.table(slices.DeleteFunc(slices.Clone(root.Flags), func(f *kong.Flag) bool { return f.Hidden }))
	for _, child := range root.Children {
		if child.Name != cli.StageCommand {
			p.verb(child, "##")
		}
	}
	for _, name := range p.groups {
		title := strings.TrimSuffix(name, ":")
		fmt.Fprintf(&p.text, "## %s flags\n\n%s\n\n", title, helpPageGroups[title])
		p.table(p.shared[name])
	}
	p.text.WriteString("## Exit codes\n\n`agent-pipelines help exit-codes` prints them, and `agent-pipelines explain 22` says more of one ([errors](errors.md)).\n\n| code | |\n|---|---|\n")
	for _, row := range cli.Exits {
		fmt.Fprintf(&p.text, "| %d | %s |\n", row.Code, row.When)
	}
	p.text.WriteString("\n## Environment\n\n`agent-pipelines help environment` prints them.\n\n| variable | |\n|---|---|\n")
	for _, row := range machine.Environment {
		fmt.Fprintf(&p.text, "| `%s` | %s |\n", row.Name, escapedCell(row.Meaning))
	}
	golden(t, "../../docs/cli.md", p.text.String())
}

const helpPageIntro = `# The command line

<!-- Made from the command's help by a test of cmd/agent-pipelines: do not edit, run make golden. -->

Every verb of ~agent-pipelines~, with its arguments, its flags and examples, as ~agent-pipelines help <verb>~ prints them. The page is generated from the
grammar that the command reads its line by, and a test reads every example by it. A first word that is not a verb is the name of a stage:
~agent-pipelines polish~ is short for ~agent-pipelines loop polish~. A value follows ~=~ or a blank. Results go to standard output, messages about the progress
to standard error.

| verb | |
|---|---|
`

// helpPageGroups describes each group of flags.
var helpPageGroups = map[string]string{
	"Flow":      "The part of its pipeline that a run executes. Each verb lists the flags that it has.",
	"Isolation": "What plugins and agents may reach, and where models may be: [isolation](isolation.md).",
}

// helpPage builds the page docs/cli.md.
type helpPage struct {
	t    *testing.T
	text strings.Builder
	// shared holds the flags by group, and groups lists the names of the groups in the order of their first use.
	shared map[string][]*kong.Flag
	groups []string
}

// verb writes the sections of a verb and its subcommands.
func (p *helpPage) verb(node *kong.Node, level string) {
	if node.Hidden {
		return
	}
	fmt.Fprintf(&p.text, "%s %s\n\n%s\n\n```text\n%s %s\n```\n\n", level, named(node), node.Help, cli.Program, node.Summary())
	about, _, _ := strings.Cut(node.Detail, "Examples:\n")
	if about = strings.TrimSpace(about); about != "" {
		fmt.Fprintf(&p.text, "%s\n\n", about)
	}
	if len(node.Positional) > 0 {
		p.text.WriteString("| argument | |\n|---|---|\n")
		for _, arg := range node.Positional {
			fmt.Fprintf(&p.text, "| `%s` | %s |\n", strings.Trim(arg.Summary(), "[]<>"), escapedCell(arg.Help))
		}
		p.text.WriteString("\n")
	}
	var own []*kong.Flag
	groups := map[string][]string{}
	var order []string
	for _, flag := range node.Flags {
		switch {
		case flag.Hidden:
		case flag.Group == nil:
			own = append(own, flag)
		default:
			name := flag.Group.Title
			if groups[name] == nil {
				order = append(order, name)
			}
			groups[name] = append(groups[name], "`--"+flag.Name+"`")
			p.share(named(node), name, flag)
		}
	}
	if len(own) > 0 {
		p.table(own)
	}
	for _, name := range order {
		title := strings.TrimSuffix(name, ":")
		fmt.Fprintf(&p.text, "[%s flags](#%s-flags): %s.\n\n", title, strings.ToLower(title), strings.Join(groups[name], ", "))
	}
	if lines := parseExamples(node.Detail); len(lines) > 0 {
		fmt.Fprintf(&p.text, "```text\n%s %s\n```\n\n", cli.Program, strings.Join(lines, "\n"+cli.Program+" "))
	}
	for _, child := range node.Children {
		p.verb(child, level+"#")
	}
}

// share records a flag of a group. It ends the test if the flag has another help text in another verb.
func (p *helpPage) share(verb, group string, flag *kong.Flag) {
	if p.shared[group] == nil {
		p.groups = append(p.groups, group)
	}
	for _, other := range p.shared[group] {
		if other.Name == flag.Name {
			require(p.t, other.Help == flag.Help, flag.Name, verb, flag.Help, other.Help)
			return
		}
	}
	p.shared[group] = append(p.shared[group], flag)
}

func (p *helpPage) table(flags []*kong.Flag) {
	p.text.WriteString("| flag | |\n|---|---|\n")
	for _, flag := range flags {
		fmt.Fprintf(&p.text, "| `%s` | %s |\n", strings.ReplaceAll(flag.String(), "|", `\|`), escapedCell(flag.Help))
	}
	p.text.WriteString("\n")
}

// named returns a verb with its aliases.
func named(node *kong.Node) string {
	words := node.Name
	if len(node.Aliases) > 0 {
		words += " (" + strings.Join(node.Aliases, ", ") + ")"
	}
	if node.Parent != nil && node.Parent.Type == kong.CommandNode {
		words = named(node.Parent) + " " + words
	}
	return words
}

// anchored returns the anchor of a verb's heading.
func anchored(node *kong.Node) string {
	return strings.NewReplacer(" ", "-", "(", "", ")", "", ",", "").Replace(named(node))
}

// escapedCell escapes a text for a cell of a table.
func escapedCell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}
