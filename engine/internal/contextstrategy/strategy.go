package contextstrategy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// request adds the text and the input files that the run was started with.
func (b *builder) request() {
	b.add(Fact, "request", b.omitIfInPrompt(b.Plan.EffectiveContext(b.Node)))
	files, err := b.Inputs.Initial(b.State, b.Command.Location.Outer())
	b.keep(err)
	b.addFiles("input ", files)
}

// conversation adds the outputs of all agents and the feedback on them, the oldest first.
func (b *builder) conversation() {
	for _, n := range b.enteredNodes() {
		ns := b.State.Nodes[n.Path]
		for visit := b.State.PriorVisits[n.Path] + 1; visit < ns.Visit; visit++ {
			b.addVisit(n, event.Location{Node: n.Path, Visit: visit, Run: max(ns.Run, 1)})
		}
		b.addOutputs(n, true)
		b.addArtifact(n)
		if ref := ns.Loop.Feedback; ref != nil {
			text, err := b.Dir.ReadRef(*ref)
			b.keep(err)
			b.add(Talk, "feedback of "+n.ID, b.omitIfInPrompt(string(text)))
		}
	}
}

// addVisit adds the outputs of an earlier visit of a node.
func (b *builder) addVisit(n *plan.Node, at event.Location) {
	dir, err := store.NodeAt(b.Plan, at)
	b.keep(err)
	entries, err := b.Dir.Entries(string(dir) + "/iterations")
	b.keep(err)
	b.addOutputFiles(fmt.Sprintf("output of %s, visit %d", n.ID, at.Visit), b.outputFiles(iterationRange{at: at, last: len(entries)}), true)
}

// addOutputs adds the outputs of a node's newest visit: all outputs, or the last output of each location.
func (b *builder) addOutputs(n *plan.Node, all bool) {
	if n.Kind != plan.KindStage {
		files, err := b.Inputs.NodeOutputs(b.State, n.Path)
		b.keep(err)
		b.addOutputFiles("output of "+n.ID, files, true)
		return
	}
	for _, w := range b.iterationRanges(n.Path) {
		b.addOutputFiles("output of "+w.name(n), b.outputFiles(w), all)
	}
}

// outputFiles returns the output files of a location's newest iterations.
func (b *builder) outputFiles(w iterationRange) []string {
	iterations, err := w.iterations(b.Plan)
	b.keep(err)
	files := make([]string, len(iterations))
	for i, it := range iterations {
		files[i] = b.Dir.Abs(it.Output())
	}
	return files
}

// addOutputFiles adds output files with the same name, all of them or the last one.
func (b *builder) addOutputFiles(name string, files []string, all bool) {
	var sections []Section
	for _, file := range files {
		if section, ok := b.readFile(file); ok {
			section.Kind, section.Name = Talk, name
			sections = append(sections, section)
		}
	}
	if len(sections) > 1 {
		for i := range sections {
			sections[i].Name = fmt.Sprintf("%s, %d of %d", name, i+1, len(sections))
		}
	}
	if !all {
		sections = sections[max(0, len(sections)-1):]
	}
	b.sections = append(b.sections, sections...)
}

// history adds the reasons of the transitions over counted edges that lead back from this node.
func (b *builder) history() {
	prefix := b.Node.ID + ":"
	if embedder := b.Plan.Embedder(b.Command.Location.Outer()); embedder != "" {
		prefix = embedder + "/" + prefix
	}
	var text strings.Builder
	for _, edge := range slices.Sorted(maps.Keys(b.State.Cycles)) {
		c := b.State.Cycles[edge]
		if !strings.HasPrefix(edge, prefix) {
			continue
		}
		for i, reason := range c.Reasons {
			fmt.Fprintf(&text, "- %s, return %d of at most %d: %s\n", edge, c.Count-len(c.Reasons)+i+1, c.Limit, oneLine(reason))
		}
	}
	b.add(Fact, "earlier reviews", text.String())
}

// previousWork adds the previous node's last output, its artifact, and its changed files.
func (b *builder) previousWork() {
	n := b.previousNode()
	if n == nil {
		return
	}
	b.addOutputs(n, false)
	b.addArtifact(n)
	if n.Kind != plan.KindStage {
		return
	}
	names := b.touchedFiles(n)
	b.add(Fact, "files changed by "+n.ID, b.fileSizes(names))
	names = names[:min(len(names), maxFiles)]
	b.addFiles("file ", slices.DeleteFunc(names, func(name string) bool { return !b.isFile(name) }))
}

// The context strategies.
const (
	Full    = "full"    // request, conversation, list of project files, named files
	Focused = "focused" // step, acceptance criteria, named files, last tool results
	Minimal = "minimal" // previous node's output and files, criteria, check results
	Summary = "summary" // request and short results
)

// Sections returns the sections of a strategy in their order, without empty ones; none for "". An unknown strategy or
// an unreadable session file is an error. Files that an agent named, but that are missing, are omitted.
func (s Source) Sections(strategy string) ([]Section, error) {
	b := &builder{Source: s}
	var parts []func()
	switch strategy {
	case "":
	case Full:
		parts = []func(){b.request, b.conversation, b.tree, b.namedFiles}
	case Focused:
		parts = []func(){b.step, b.namedFiles, b.toolResults}
	case Minimal:
		parts = []func(){b.previousWork, b.criteria, b.checkResults}
	case Summary:
		parts = []func(){b.request, b.titles, b.stepLines, b.checkSummary, b.changes, b.history}
	default:
		return nil, failure.New(failure.ConfigInvalid, "policy.context of %s is %q", s.Node.ID, strategy).
			WithHint("write %s, %s, %s or %s", Full, Focused, Minimal, Summary)
	}
	for _, part := range parts {
		if part(); b.err != nil {
			return nil, b.err
		}
	}
	return slices.DeleteFunc(b.sections, func(s Section) bool { return strings.TrimSpace(s.Text) == "" }), nil
}
