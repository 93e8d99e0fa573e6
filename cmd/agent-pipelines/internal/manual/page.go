package manual

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Page is one page of section 1.
type Page struct {
	// File is the name of the page's file: "agent-pipelines-loop.1".
	File string
	Text string
}

// Options are the contents of the pages in addition to the grammar.
type Options struct {
	// Program is the command's name, About its description in a line, Version its version.
	Program, About, Version string
	// Forms lists forms of the command line that the grammar does not show, without the program.
	Forms []string
	// Sections lists further sections of the command's page, after the flags.
	Sections []Section
	// See lists further sources, one line each.
	See []string
}

// Section is a list with a heading.
type Section struct {
	Heading string
	Rows    []Row
}

// Row is a term and its meaning.
type Row struct{ Term, Meaning string }

// Pages renders the page of the command and the pages of its verbs, in the order of the grammar. Verbs below a verb
// are on its page; hidden verbs and flags on none.
func Pages(root *kong.Node, o Options) []Page {
	verbs := visibleVerbs(root)
	pages := []Page{{File: o.Program + ".1", Text: o.command(root, verbs)}}
	for _, verb := range verbs {
		pages = append(pages, Page{File: o.page(verb) + ".1", Text: o.verb(verb)})
	}
	return pages
}

// visibleVerbs returns the visible verbs below a node, without verbs with brackets in their names, which cannot be
// typed.
func visibleVerbs(n *kong.Node) []*kong.Node {
	return slices.DeleteFunc(slices.Clone(n.Children), func(c *kong.Node) bool { return c.Hidden || strings.HasPrefix(c.Name, "<") })
}

// page returns the name of a verb's page.
func (o Options) page(verb *kong.Node) string { return o.Program + "-" + verb.Name }

func (o Options) command(root *kong.Node, verbs []*kong.Node) string {
	var r roff
	r.title(o.Program, o.Version)
	r.section("NAME")
	r.lines(o.Program + " - " + strings.TrimSuffix(o.About, "."))
	r.section("SYNOPSIS")
	for _, form := range append([]string{"<verb> [<args>] [flags]"}, o.Forms...) {
		r.synopsis(o.Program, form)
	}
	r.section("DESCRIPTION")
	r.text(root.Help)
	r.section("VERBS")
	for _, verb := range verbs {
		r.item(o.page(verb)+"(1)", verb.Help)
	}
	r.section("FLAGS OF EVERY VERB")
	o.flags(&r, root.Flags)
	for _, s := range o.Sections {
		r.section(s.Heading)
		for _, row := range s.Rows {
			r.item(row.Term, row.Meaning)
		}
	}
	r.section("SEE ALSO")
	for _, line := range o.See {
		r.text(line)
	}
	return r.String()
}

func (o Options) verb(n *kong.Node) string {
	var r roff
	r.title(o.page(n), o.Version)
	r.section("NAME")
	r.lines(o.page(n) + " - " + strings.TrimSuffix(n.Help, "."))
	r.section("SYNOPSIS")
	for _, leaf := range leafVerbs(n) {
		r.synopsis(o.Program, leaf.Summary())
	}
	about, examples := cut(n.Detail)
	r.section("DESCRIPTION")
	r.text(n.Help)
	if len(n.Aliases) > 0 {
		r.text("It is also called " + strings.Join(n.Aliases, ", ") + ".")
	}
	r.text(about)
	if children := visibleVerbs(n); len(children) > 0 {
		r.section("VERBS")
		for _, child := range children {
			o.below(&r, child)
		}
	}
	if len(n.Positional) > 0 {
		r.section("ARGUMENTS")
		arguments(&r, n)
	}
	if slices.ContainsFunc(n.Flags, visible) {
		r.section("FLAGS")
		o.flags(&r, n.Flags)
	}
	if len(examples) > 0 {
		r.section("EXAMPLES")
		r.literal(examples)
	}
	r.section("SEE ALSO")
	r.text(o.Program + "(1) has the flags of every verb, the exit codes and the environment.")
	return r.String()
}

// below writes a subcommand and the verbs below it.
func (o Options) below(r *roff, n *kong.Node) {
	r.part(strings.TrimPrefix(n.Path(), "/"))
	r.text(n.Help)
	about, examples := cut(n.Detail)
	r.text(about)
	arguments(r, n)
	o.flags(r, n.Flags)
	if len(examples) > 0 {
		r.literal(examples)
	}
	for _, child := range visibleVerbs(n) {
		o.below(r, child)
	}
}

func arguments(r *roff, n *kong.Node) {
	for _, arg := range n.Positional {
		r.item(strings.Trim(arg.Summary(), "[]"), arg.Help)
	}
}

func (o Options) flags(r *roff, flags []*kong.Flag) {
	for _, flag := range flags {
		if visible(flag) {
			r.item(flag.String(), flag.Help)
		}
	}
}

func visible(f *kong.Flag) bool { return !f.Hidden }

// leafVerbs returns the verbs without subcommands below a node, or the node itself.
func leafVerbs(n *kong.Node) []*kong.Node {
	children := visibleVerbs(n)
	if len(children) == 0 {
		return []*kong.Node{n}
	}
	var all []*kong.Node
	for _, child := range children {
		all = append(all, leafVerbs(child)...)
	}
	return all
}

// cut splits a verb's help into its description and the lines of its examples.
func cut(detail string) (about string, examples []string) {
	about, after, _ := strings.Cut(detail, "Examples:\n")
	for line := range strings.Lines(after) {
		if line = strings.TrimSpace(line); line != "" {
			examples = append(examples, line)
		}
	}
	return about, examples
}
