package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	briefing "github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/tokens"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// told is what the agent of an attempt is told.
type told struct {
	prompt string
	// The parts of a contract; zero without one.
	artifact inputs.Artifact
	input    string          // path of the artifact that the node works from
	step     json.RawMessage // the step's item
	feedback string
	earlier  briefing.Attempted
	budget   *inputs.Budget // nil without a limit
	cuts     []briefing.Cut
}

// tell puts the prompt together: the template with its variables replaced, what has no place in it, and the brief of
// policy.context. The error of a prompt that is too long comes with what was told so far.
func (a *attempt) tell(ctx context.Context, paths inputs.Paths) (told, error) {
	if a.node.WrapsCommand() { // which reads its inputs, and no prompt
		return a.contract()
	}
	template, err := a.template()
	if err != nil {
		return told{}, err
	}
	said, err := hook.Context(a.Dir, a.state, a.command.Location)
	if err != nil {
		return told{}, err
	}
	t, err := a.contract()
	if err == nil {
		t.earlier, err = briefing.Earlier(a.Dir, a.Plan, a.state, a.command.Location)
	}
	if err != nil {
		return t, err
	}
	v := a.vars(paths, said)
	var homeless []string
	if a.node.HasContract() {
		v.Contract = &prompt.Contract{Artifact: t.artifact.Path, InputArtifact: t.input, Feedback: fenced("feedback", t.feedback), Step: briefing.Escape(string(t.step))}
		homeless = a.homeless(template, t, paths)
	} else if t.feedback != "" {
		homeless = []string{fenced("feedback", t.feedback)}
	}
	text := withWord(template, prompt.Resolve(template, v), said)
	if faults := a.faults(); faults != "" {
		homeless = append(homeless, fenced("artifact faults", faults))
	}
	if a.node.HasContract() {
		homeless = append(homeless, nonEmpty(fenced("superseded attempt", a.unfinished()))...)
	}
	t.prompt = strings.Join(append([]string{text}, homeless...), "\n\n")
	return a.addBrief(ctx, t)
}

// fenced is a text as a section of the prompt, "" for none.
func fenced(name, text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(briefing.Fence(name, text), "\n")
}

func (a *attempt) template() (string, error) {
	if a.node.Prompt != "" {
		return a.node.Prompt, nil
	}
	file := a.node.PromptPath
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.Project.Path(), file)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", failure.New(failure.ConfigInvalid, "read prompt of %s: %w", a.node.ID, err).
			WithHint("the plan names this file; put it back, or start a new session to compile again")
	}
	return string(b), nil
}

func (a *attempt) vars(paths inputs.Paths, said string) prompt.Vars {
	at := a.command.Location
	v := prompt.Vars{
		Context: a.Dir.Abs(a.iteration.Context()), Status: paths.Status, Result: paths.Result,
		Session: a.state.Session, Iteration: strconv.Itoa(at.Iteration), Index: strconv.Itoa(at.Iteration - 1),
		OutputPath: a.outputName(), Progress: paths.Progress, Text: strings.Join(nonEmpty(a.Plan.ContextOf(a.node), said), "\n"),
	}
	if name := a.mirrored(); name != "" {
		v.Output = a.Dir.Abs(name)
	}
	return v
}

// withWord ends a prompt that has no place for what people and hooks said with it: their word to the agent is not
// lost.
func withWord(template, text, said string) string {
	if said == "" || strings.Contains(template, "${CONTEXT}") {
		return text
	}
	return text + "\n\n" + said
}

func nonEmpty(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

// contract gathers what a contract adds to what the agent is told; feedback, without one too, where an edge brought it.
func (a *attempt) contract() (told, error) {
	var t told
	var err error
	at := a.command.Location
	ns := a.state.Nodes[at.Outer()]
	if t.feedback, err = a.feedback(ns); err != nil || !a.node.HasContract() {
		return t, err
	}
	if c := a.node.Artifact; c != nil {
		file, err := a.artifactFile(ns)
		if err != nil {
			return t, err
		}
		t.artifact = inputs.Artifact{Path: a.Dir.Abs(file), Schema: c.Schema}
	}
	if in, has := artifact.InputOf(a.Plan, a.state, a.node, at); has {
		t.input = a.Dir.Abs(in.Ref.Path)
	}
	if step, planned := ns.Steps[at.Step]; planned && at.Step != "" {
		t.step, err = a.Dir.ReadRef(step.Item)
		t.step = bytes.TrimSpace(t.step)
	}
	return t, err
}

// artifactFile is where the artifact goes: the steps of a node make one together.
func (a *attempt) artifactFile(ns state.Node) (string, error) {
	at := a.command.Location
	if at.Step == "" {
		return a.reports.Artifact(), nil
	}
	at.Step = ""
	dir, err := store.At(a.Plan, at)
	return dir.Iteration(max(1, ns.Loop.Iteration)).Artifact(), err
}

// refused is what was wrong with the result that the last attempt here left, "" where it failed for another reason or
// did not. What was wrong with its artifact is a section of its own.
func (a *attempt) refused() string {
	f := a.loop().Failure
	if f == nil || len(f.Faults) > 0 || !a.node.HasContract() {
		return ""
	}
	switch failure.Kind(f.ErrorType) {
	case failure.ResultInvalid, failure.ResultMissing:
		return f.Message
	default:
		return ""
	}
}

// feedback is what was wrong with what the last attempt left, else what the last iteration here came to, else the last one of the node, else why the node was entered
// again; "" where all of that was a success. Under the strategy focused a step is told what concerns it.
func (a *attempt) feedback(ns state.Node) (string, error) {
	if said := a.refused(); said != "" {
		return said, nil
	}
	for _, ref := range []*event.Ref{a.loop().Feedback, ns.Loop.Feedback, ns.Feedback} {
		if ref == nil {
			continue
		}
		text, err := a.Dir.ReadRef(*ref)
		said := strings.TrimRight(string(text), "\n")
		if step := a.command.Location.Step; step != "" && ref != a.loop().Feedback && a.Plan.PolicyOf(a.node).Context == briefing.Focused {
			said = briefing.Naming(said, step, ns.Order)
		}
		return said, err
	}
	return ns.Cause, nil
}

// homeless is what a template with a contract has no place for, each as a section.
func (a *attempt) homeless(template string, t told, paths inputs.Paths) []string {
	var sections []string
	add := func(variable, name, text string) {
		if text != "" && !strings.Contains(template, variable) {
			sections = append(sections, fenced(name, text))
		}
	}
	add("${ARTIFACT}", "artifact", a.artifactWanted(t.artifact, paths))
	add("${STEP}", "step "+a.command.Location.Step, string(t.step))
	add("${FEEDBACK}", "feedback", t.feedback)
	return sections
}

// artifactWanted says what artifact the node is to make, and where it goes; "" if none is wanted, or by all steps
// together: then the prompt has to say which one writes it.
func (a *attempt) artifactWanted(to inputs.Artifact, paths inputs.Paths) string {
	c := a.node.Artifact
	if c == nil || a.command.Location.Step != "" {
		return ""
	}
	var b strings.Builder
	switch c.From {
	case artifact.FromResult:
		fmt.Fprintf(&b, "Put the artifact of this stage into %s, as the member \"artifact\".\n", paths.Result)
	case artifact.FromOutput:
		b.WriteString("End your answer with the artifact of this stage, in a fenced block of YAML or JSON.\n")
	default:
		if tool := c.Tool(); tool != "" {
			fmt.Fprintf(&b, "Hand the artifact of this stage over by calling the tool %s, with its fields as the arguments. Only if you have no such tool: ", tool)
		}
		fmt.Fprintf(&b, "Write the artifact of this stage to %s, as YAML or JSON.\n", to.Path)
	}
	if c.Type != "" {
		fmt.Fprintf(&b, "Type: %s\n", c.Type)
	}
	if c.Version != "" {
		fmt.Fprintf(&b, "Version: %s\n", c.Version)
	}
	if len(c.KernelFields) > 0 {
		fmt.Fprintf(&b, "Leave out, since they are measured: %s\n", strings.Join(slices.Sorted(maps.Keys(c.KernelFields)), ", "))
	}
	if len(c.Carry) > 0 {
		fmt.Fprintf(&b, "Leave out, unless they change, since they are carried over: %s\n", strings.Join(c.Carry, ", "))
	}
	if len(c.Schema) > 0 {
		fmt.Fprintf(&b, "JSON Schema: %s\n", c.Schema)
	}
	return b.String()
}

// addBrief ends the prompt with what an earlier attempt came to that is to be made better, and with the sections of
// policy.context: as much of them as the node's share of policy.budget leaves room for.
func (a *attempt) addBrief(ctx context.Context, t told) (told, error) {
	policy, count := a.Plan.PolicyOf(a.node), tokens.For(a.node.Provider.Model)
	share, limited, err := a.share(ctx, policy.Budget)
	if err != nil {
		return t, err
	}
	if limited {
		t.budget = &inputs.Budget{Limit: share, Used: count(t.prompt)}
		if t.budget.Used > share {
			return t, failure.New(failure.BudgetExceeded, "the prompt of %s has %d tokens before anything is added to it, and its share is %d", a.node.ID, t.budget.Used, share).
				WithHint("shorten the prompt, or raise policy.budget.total or policy.budget.shares.%s", a.node.ID)
		}
	}
	source := briefing.Source{
		Plan: a.Plan, Project: a.Project, Dir: a.Dir, Inputs: a.Inputs, Redactor: a.Redactor,
		State: a.state, Node: a.node, Location: a.command.Location, Prompt: t.prompt,
	}
	earlier, err := source.EarlierSections(t.earlier)
	if err != nil {
		return t, err
	}
	sections, err := source.Sections(policy.Context)
	if err != nil {
		return t, err
	}
	sections = append(earlier, sections...)
	room := -1
	if limited {
		room = max(0, share-count(t.prompt+"\n\n"))
	}
	sections, t.cuts = briefing.Fit(sections, room, count)
	if len(sections) > 0 {
		t.prompt += "\n\n" + strings.TrimRight(briefing.Render(sections), "\n")
	}
	if limited {
		t.budget.Used = count(t.prompt)
	}
	return t, nil
}

// share is how many tokens the prompt may have.
func (a *attempt) share(ctx context.Context, b *plan.Budget) (limit int, limited bool, err error) {
	var takesIn int64
	if b.NeedsContext(a.node.ID) {
		provider, err := a.Providers.Provider(ctx, a.node.Provider.Type)
		if err != nil {
			return 0, false, err
		}
		if takesIn, err = ContextOf(provider, a.node); err != nil {
			return 0, false, err
		}
	}
	limit, limited = b.Share(a.node.ID, takesIn)
	return limit, limited, nil
}

// recordBudget tells what was left out of a prompt that has a limit, and how long it is.
func (a *attempt) recordBudget(ctx context.Context, t told) {
	for _, c := range t.cuts {
		a.inform(ctx, event.ContextTrimmed, event.ContextTrimmedData{
			Kind: string(c.Kind), Name: event.Truncate(c.Name, event.MaxName),
			OriginalTokens: c.OriginalTokens, OriginalBytes: c.OriginalBytes, KeptTokens: c.KeptTokens, KeptBytes: c.KeptBytes,
		})
	}
	if t.budget != nil {
		a.inform(ctx, event.ContextBuilt, event.ContextBuiltData{Tokens: t.budget.Used, Limit: t.budget.Limit})
	}
}

// inform records an event that no fold reads.
func (a *attempt) inform(ctx context.Context, t event.Type, data any) {
	e := event.New(t, a.command.Location.Cursor(), a.command.Key, data)
	e.Attempt = a.command.Attempt
	if err := a.record(ctx, e); err != nil {
		a.log.Debug("event not recorded", "type", e.Type, "error", err)
	}
}
