package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/capability"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// infoPage writes what one plugin is and offers. What plugins say of themselves is cleaned, since
// anybody may have written them.
type infoPage struct {
	to io.Writer
	// width is the number of columns, 0 for no limit.
	width int
}

// least is the number of columns that a value needs beside its name; with less it stands below it.
const least = 20

// width is the number of columns that standard output has: the terminal's, elsewhere what COLUMNS says,
// 0 if nobody says.
func (a *app) width() int {
	if f, ok := a.outFile(); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	if width, err := strconv.Atoi(a.getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return 0
}

func (p infoPage) plugin(r pluginReport) {
	rows := []capability.Row{
		{Name: "Plugin", Value: r.Name + " " + r.Version},
		{Name: "Path", Value: cmp.Or(r.Path, "none, it is part of the command")},
		{Name: "Source", Value: r.Source},
	}
	if r.SHA256 != "" {
		rows = append(rows, capability.Row{Name: "SHA-256", Value: r.SHA256})
	}
	if r.Locked != "" {
		rows = append(rows, capability.Row{Name: "Locked", Value: r.locked()})
	}
	if len(r.Protocols) > 0 {
		rows = append(
			rows,
			capability.Row{Name: "Protocol", Value: strings.Trim(fmt.Sprint(r.Protocols), "[]")},
			capability.Row{Name: "SDK", Value: cmp.Or(r.SDK, "unknown")},
			capability.Row{Name: "Mutual TLS", Value: yesNo(r.MTLS)},
		)
	}
	p.rows("", rows)
	if r.Fault != nil {
		p.text("", "unusable: "+r.Fault.Message)
		indent(p.to, r.Fault.Hint)
		indent(p.to, r.Fault.Detail)
	}
	for _, c := range r.Components {
		p.component(c, r.Name)
	}
}

// locked says how the plugin stands to the locks.
func (p pluginReport) locked() string {
	switch p.Locked {
	case "yes":
		return "yes, by " + p.Lock
	case "mismatch":
		return "to another file, by " + p.Lock + ": " + p.Expected
	default:
		return fmt.Sprintf("no (`%s plugins lock %s` does it)", program, p.Name)
	}
}

func (p infoPage) component(c sdk.Component, plugin string) {
	title := kindName(c.Kind) + " " + c.Name
	if len(c.Aliases) > 0 {
		title += ", also called " + strings.Join(c.Aliases, ", ")
	}
	fmt.Fprintln(p.to)
	p.text("", title)
	if c.Summary != "" {
		p.text("  ", c.Summary)
	}
	p.rows("  ", capability.Rows(c))
	keys := capability.Keys(c.ConfigSchema)
	switch {
	case len(c.ConfigSchema) == 0:
		p.text("  ", "It tells nothing of settings.")
		return
	case len(keys) == 0:
		p.text("  ", "Its JSON Schema names no settings.")
		return
	}
	p.text("  ", "Settings:")
	for _, k := range keys {
		p.key(k)
	}
	p.text("  ", fmt.Sprintf("Their JSON Schema is in `%s plugins info %s --json`.", program, plugin))
}

// rows writes names and values in two columns.
func (p infoPage) rows(margin string, rows []capability.Row) {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r.Name))
	}
	beside := len(margin) + longest + len(": ")
	for _, r := range rows {
		if p.width > 0 && p.width < beside+least {
			p.text(margin, r.Name+":")
			p.text(margin+"  ", r.Value)
			continue
		}
		p.hanging(fmt.Sprintf("%s%-*s", margin, longest+len(": "), r.Name+":"), strings.Repeat(" ", beside), r.Value)
	}
}

// key writes a setting: its name and type, below them what it is for.
func (p infoPage) key(k capability.Key) {
	about := k.Type
	if k.Required {
		about += ", required"
	}
	if k.Default != "" {
		about += ", default " + k.Default
	}
	p.hanging("    "+screen.Clean(k.Name)+": ", "      ", about)
	if k.Description != "" {
		p.text("      ", k.Description)
	}
	if len(k.Members) > 0 {
		p.text("      ", "Members: "+strings.Join(k.Members, ", "))
	}
}

func (p infoPage) text(margin, text string) { p.hanging(margin, margin, text) }

// hanging writes a text behind a beginning, the lines that follow behind a margin.
func (p infoPage) hanging(begin, margin, text string) {
	first, rest := 0, 0
	if p.width > 0 {
		first, rest = max(p.width-screen.Columns(begin), 1), max(p.width-screen.Columns(margin), 1)
	}
	for _, line := range screen.Wrap(text, first, rest) {
		fmt.Fprintln(p.to, strings.TrimRight(begin+line, " "))
		begin = margin
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// noProvider is the error for the name of a provider that there is not.
func noProvider(name string, names []string) error {
	return usageError(fmt.Sprintf("there is no provider '%s'", name), "%s`%s plugins list` shows the providers", didYouMean(name, names), program)
}

func kindName(k sdk.Kind) string { return strings.ReplaceAll(string(k), "_", " ") }

// pluginReport is a plugin as it is shown.
type pluginReport document.Plugin

// offers says whether one of the plugin's components has the name, or has it as an alias.
func (p pluginReport) offers(name string) bool {
	return slices.ContainsFunc(p.Components, func(c sdk.Component) bool {
		return c.Name == name || slices.Contains(c.Aliases, name)
	})
}

// place is where the plugin lies. Several that the command carries lie in one file, which is said.
func (p pluginReport) place() string {
	if p.Source == engine.SourceBundled {
		return p.Path + " (" + p.Source + ")"
	}
	return p.Path
}

// standing says how a plugin stands to the locks, in a word or two; "" where that says nothing.
func (p pluginReport) standing() string {
	switch {
	case p.Locked == "mismatch":
		return "not as locked"
	case p.Locked == "yes":
		return "locked"
	case p.Locked == "no" && p.Source != engine.SourceBundled:
		return "not locked"
	default:
		return ""
	}
}
