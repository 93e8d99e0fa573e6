package cli

import (
	"cmp"
	"context"
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
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// InfoPage writes the description of one plugin. It removes control characters, because plugins are untrusted.
type InfoPage struct {
	To io.Writer
	// Width is the number of columns, 0 for no limit.
	Width int
}

// MinValueWidth is the minimum number of columns for a value beside its name; with fewer, the value is on the next line.
const MinValueWidth = 20

// Width returns the number of columns of standard output: the terminal's, else COLUMNS, else 0.
func (a *App) Width() int {
	if f, ok := a.OutFile(); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	if width, err := strconv.Atoi(a.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return 0
}

// Plugin writes the page of one plugin.
func (p InfoPage) Plugin(r document.Plugin) {
	rows := []capability.Row{
		{Name: "Plugin", Value: r.Name + " " + r.Version},
		{Name: "Path", Value: cmp.Or(r.Path, "none, it is part of the command")},
		{Name: "Source", Value: r.Source},
	}
	if r.SHA256 != "" {
		rows = append(rows, capability.Row{Name: "SHA-256", Value: r.SHA256})
	}
	if r.Locked != "" {
		rows = append(rows, capability.Row{Name: "Locked", Value: lockText(r)})
	}
	if len(r.Protocols) > 0 {
		rows = append(
			rows,
			capability.Row{Name: "Protocol", Value: strings.Trim(fmt.Sprint(r.Protocols), "[]")},
			capability.Row{Name: "SDK", Value: cmp.Or(r.SDK, "unknown")},
			capability.Row{Name: "Mutual TLS", Value: YesNo(r.MTLS)},
		)
	}
	p.rows("", rows)
	if r.Fault != nil {
		p.Text("", "unusable: "+r.Fault.Message)
		indent(p.To, r.Fault.Hint)
		indent(p.To, r.Fault.Detail)
	}
	for _, c := range r.Components {
		p.component(c, r.Name)
	}
}

// lockText returns the plugin's lock status as text.
func lockText(p document.Plugin) string {
	switch p.Locked {
	case "yes":
		return "yes, by " + p.Lock
	case "mismatch":
		return "to another file, by " + p.Lock + ": " + p.Expected
	default:
		return fmt.Sprintf("no (`%s plugins lock %s` does it)", Program, p.Name)
	}
}

func (p InfoPage) component(c sdk.Component, plugin string) {
	title := KindName(c.Kind) + " " + c.Name
	if len(c.Aliases) > 0 {
		title += ", also called " + strings.Join(c.Aliases, ", ")
	}
	fmt.Fprintln(p.To)
	p.Text("", title)
	if c.Summary != "" {
		p.Text("  ", c.Summary)
	}
	p.rows("  ", capability.Rows(c))
	keys := capability.Keys(c.ConfigSchema)
	switch {
	case len(c.ConfigSchema) == 0:
		p.Text("  ", "It describes no settings.")
		return
	case len(keys) == 0:
		p.Text("  ", "Its JSON Schema names no settings.")
		return
	}
	p.Text("  ", "Settings:")
	for _, k := range keys {
		p.key(k)
	}
	p.Text("  ", fmt.Sprintf("Their JSON Schema is in `%s plugins info %s --json`.", Program, plugin))
}

// rows writes names and values in two columns.
func (p InfoPage) rows(margin string, rows []capability.Row) {
	longest := 0
	for _, r := range rows {
		longest = max(longest, len(r.Name))
	}
	column := len(margin) + longest + len(": ")
	for _, r := range rows {
		if p.Width > 0 && p.Width < column+MinValueWidth {
			p.Text(margin, r.Name+":")
			p.Text(margin+"  ", r.Value)
			continue
		}
		p.HangingText(fmt.Sprintf("%s%-*s", margin, longest+len(": "), r.Name+":"), strings.Repeat(" ", column), r.Value)
	}
}

// key writes a setting: its name and type, and below them its description.
func (p InfoPage) key(k capability.Key) {
	about := k.Type
	if k.Required {
		about += ", required"
	}
	if k.Default != "" {
		about += ", default " + k.Default
	}
	p.HangingText("    "+screen.Clean(k.Name)+": ", "      ", about)
	if k.Description != "" {
		p.Text("      ", k.Description)
	}
	if len(k.Members) > 0 {
		p.Text("      ", "Members: "+strings.Join(k.Members, ", "))
	}
}

// Text writes a wrapped text with a margin on each line.
func (p InfoPage) Text(margin, text string) { p.HangingText(margin, margin, text) }

// HangingText writes a wrapped text: the first line after begin, the other lines after margin.
func (p InfoPage) HangingText(begin, margin, text string) {
	first, rest := 0, 0
	if p.Width > 0 {
		first, rest = max(p.Width-screen.Columns(begin), 1), max(p.Width-screen.Columns(margin), 1)
	}
	for _, line := range screen.Wrap(text, first, rest) {
		fmt.Fprintln(p.To, strings.TrimRight(begin+line, " "))
		begin = margin
	}
}

// UnknownProvider returns the error for an unknown provider; it suggests the nearest of names.
func UnknownProvider(name string, names []string) error {
	return UsageError(fmt.Sprintf("there is no provider '%s'", name), "%s`%s plugins list` shows the providers", DidYouMean(name, names), Program)
}

// KindName returns a plugin kind as words, for example "hook action".
func KindName(k sdk.Kind) string { return strings.ReplaceAll(string(k), "_", " ") }

// ListPlugins lists the engine's plugins, with complete command lines in the reasons why files are ignored.
func ListPlugins(ctx context.Context, e *engine.Engine) (pluginhost.Listing, error) {
	listing, err := e.PluginHost().List(ctx)
	listing.Ignored = slices.Clone(listing.Ignored)
	for i := range listing.Ignored {
		listing.Ignored[i].Reason = failure.Render(listing.Ignored[i].Reason, Program)
	}
	return listing, err
}
