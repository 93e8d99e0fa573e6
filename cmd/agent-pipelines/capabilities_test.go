package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/capability"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// docs/capabilities.md is generated from the plugins' descriptions (make golden writes it), so that both agree.
func TestCapabilitiesPage(t *testing.T) {
	t.Parallel()
	golden(t, filepath.Join("..", "..", "docs", "capabilities.md"), capabilitiesPage(components(t)))
}

// components returns the components of all our plugins and of the kernel, providers first.
func components(t *testing.T) []sdk.Component {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(programs, "bin", "plugins", "agent-plugin-*"))
	require(t, err == nil && len(files) != 0, programs, err)
	var all []sdk.Component
	for _, file := range files {
		out, err := exec.CommandContext(t.Context(), file, "describe").Output()
		if err != nil {
			t.Fatalf("%s describe: %v", file, err)
		}
		all = append(all, decode[sdk.Description](t, string(out)).Components...)
	}
	all = append(all, decode[sdk.Description](t, ask(t, "plugins", "info", "built-in", "--json")).Components...)
	order := []sdk.Kind{sdk.KindProvider, sdk.KindTermination, sdk.KindHookAction}
	slices.SortFunc(all, func(a, b sdk.Component) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	check(t, json.Unmarshal([]byte(text), &value))
	return value
}

// capabilitiesIntro precedes the table, whose rows come from capability.Rows.
const capabilitiesIntro = `# What each provider can

<!-- Made from the plugins' own descriptions by a test of cmd/agent-pipelines: do not edit, run make golden. -->

This page is made from what the plugins say of themselves. ~agent-pipelines plugins info <name>~ shows the same for the plugins that you
have, those of others too. The conformance suite for plugins holds a provider to its word ([writing a plugin](writing-a-plugin.md)).

`

const capabilitiesKey = `
- **Models**: which model names are taken. Any: the name is passed on, and the service may refuse it. The known ones: others are refused before
  work begins. By configuration: the provider's settings can add names.
- **Context**: how much the default model takes in, prompt and answers together.
- **Effort**: the words for how hard the model should think. How one is chosen depends on the provider's settings below.
- **Locality**: where the model runs. Configured: where the settings say, and the modes local-only and airgapped hold it to that.
- **Reports tool calls**: what the agent does is in the journal, as far as the agent reports it.
- **Asks for approval**: each tool call waits for a verdict before it is made. Without that the agent acts on its own authority.
- **Token usage**, **Cost in dollars**: counted for every attempt that the agent brings to its end, and for one that is cut short as far as it is
  known. What is unknown stays empty; it is never 0. A cost is the agent's or the price list's word, not a bill.
- **Resume**: what becomes of an attempt that a crash cut off.
- **Cancel**: what a cancelled attempt leaves running.
- **Sandbox**: whether the provider refuses to run outside isolation, and whether its agent brings its own.
- **Concurrency**: whether one process takes several calls at a time.
- **Capabilities**: named minor features of the protocol.
- **Asks for**: what it needs [where it is confined](isolation.md#what-a-plugin-asks-for), besides the project.
`

func capabilitiesPage(all []sdk.Component) string {
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(capabilitiesIntro, "~", "`"))
	writeProviders(&b, all)
	b.WriteString(capabilitiesKey)
	for _, c := range all {
		writeSettings(&b, c)
	}
	return b.String()
}

// writeProviders writes the table of capabilities with one column per provider.
func writeProviders(b *strings.Builder, all []sdk.Component) {
	header, rows := []string{""}, [][]string(nil)
	for _, c := range all {
		if c.Kind != sdk.KindProvider {
			continue
		}
		header = append(header, c.Name)
		for i, r := range slices.DeleteFunc(capability.Rows(c), func(r capability.Row) bool { return r.Name == capability.KnownModels }) {
			if len(header) == 2 {
				rows = append(rows, []string{r.Name})
			}
			rows[i] = append(rows[i], r.Value)
		}
	}
	writeTable(b, header, rows)
}

var kinds = map[sdk.Kind]string{
	sdk.KindProvider: "provider", sdk.KindTermination: "termination strategy", sdk.KindHookAction: "hook action",
}

// writeSettings writes a section on one component: its aliases, models and settings.
func writeSettings(b *strings.Builder, c sdk.Component) {
	fmt.Fprintf(b, "\n## The %s %s\n\n%s%s.", kinds[c.Kind], c.Name, strings.ToUpper(c.Summary[:1]), c.Summary[1:])
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, " Also called %s.", quoted(c.Aliases))
	}
	b.WriteString("\n")
	if c.Provider != nil && len(c.Provider.Models) > 0 {
		fmt.Fprintf(b, "\nKnown models: %s.\n", quoted(c.Provider.Models))
	}
	var rows [][]string
	for _, k := range capability.Keys(c.ConfigSchema) {
		about := k.Description
		if len(k.Members) > 0 {
			about = strings.TrimPrefix(strings.TrimSuffix(about, ".")+". Members: "+quoted(k.Members), ". ")
		}
		value := ""
		if k.Default != "" {
			value = "`" + k.Default + "`"
		}
		rows = append(rows, []string{"`" + k.Name + "`", k.Type, value, about})
	}
	if len(rows) > 0 {
		b.WriteString("\n")
		writeTable(b, []string{"setting", "type", "default", "meaning"}, rows)
	}
}

// writeTable writes a Markdown table.
func writeTable(b *strings.Builder, header []string, rows [][]string) {
	write := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(cell) + " ")
		}
		b.WriteString("|\n")
	}
	write(header)
	write(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range rows {
		write(row)
	}
}

func quoted(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }
