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

// promptData is the prompt of an attempt and the data in it.
type promptData struct {
	prompt string
	// The contract's data; zero without a contract.
	artifact      inputs.Artifact
	inputArtifact string          // path of the node's input artifact
	step          json.RawMessage // the step's item
	feedback      string
	previousVisit briefing.VisitFiles
	budget        *inputs.Budget // nil without a limit
	cuts          []briefing.Cut
}

// buildPrompt builds the prompt: the template with its variables replaced, the data that it does not reference, and
// the sections of policy.context. If the prompt is too long, the data comes with the error.
func (a *attempt) buildPrompt(ctx context.Context, paths inputs.Paths) (promptData, error) {
	if a.node.WrapsCommand() { // a command reads its inputs, not a prompt
		return a.contractData()
	}
	template, err := a.readTemplate()
	if err != nil {
		return promptData{}, err
	}
	userContext, err := hook.InjectedContext(a.Dir, a.state, a.command.Location)
	if err != nil {
		return promptData{}, err
	}
	t, err := a.contractData()
	if err == nil {
		t.previousVisit, err = briefing.PreviousVisit(a.Dir, a.Plan, a.state, a.command.Location)
	}
	if err != nil {
		return t, err
	}
	v := a.promptVars(paths, userContext)
	var sections []string
	if a.node.HasContract() {
		v.Contract = &prompt.Contract{Artifact: t.artifact.Path, InputArtifact: t.inputArtifact, Feedback: section("feedback", t.feedback), Step: briefing.Escape(string(t.step))}
		sections = a.unplacedSections(template, t, paths)
	} else if t.feedback != "" {
		sections = []string{section("feedback", t.feedback)}
	}
	text := appendUserContext(template, prompt.Resolve(template, v), userContext)
	if faults := a.faultReport(); faults != "" {
		sections = append(sections, section("artifact faults", faults))
	}
	if a.node.HasContract() {
		sections = append(sections, nonEmpty(section("superseded attempt", a.supersededReport()))...)
	}
	t.prompt = strings.Join(append([]string{text}, sections...), "\n\n")
	return a.addContextSections(ctx, t)
}

// section returns a text as a section of the prompt, "" for an empty text.
func section(name, text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(briefing.Fence(name, text), "\n")
}

func (a *attempt) readTemplate() (string, error) {
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
			WithHint("restore this file, which the plan names, or start a new session to compile again")
	}
	return string(b), nil
}

func (a *attempt) promptVars(paths inputs.Paths, userContext string) prompt.Vars {
	at := a.command.Location
	v := prompt.Vars{
		Context: a.Dir.Abs(a.iteration.Context()), Status: paths.Status, Result: paths.Result,
		Session: a.state.Session, Iteration: strconv.Itoa(at.Iteration), Index: strconv.Itoa(at.Iteration - 1),
		OutputPath: a.declaredPath(), Progress: paths.Progress, Text: strings.Join(nonEmpty(a.Plan.EffectiveContext(a.node), userContext), "\n"),
	}
	if name := a.stageOutput(); name != "" {
		v.Output = a.Dir.Abs(name)
	}
	return v
}

// appendUserContext appends the texts of users and hooks to a prompt whose template has no ${CONTEXT}.
func appendUserContext(template, text, userContext string) string {
	if userContext == "" || strings.Contains(template, "${CONTEXT}") {
		return text
	}
	return text + "\n\n" + userContext
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

// contractData returns the data of the node's contract; without a contract only feedback.
func (a *attempt) contractData() (promptData, error) {
	var t promptData
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
	if in, has := artifact.FindInput(a.Plan, a.state, a.node, at); has {
		t.inputArtifact = a.Dir.Abs(in.Ref.Path)
	}
	if step, planned := ns.Steps[at.Step]; planned && at.Step != "" {
		t.step, err = a.Dir.ReadRef(step.Item)
		t.step = bytes.TrimSpace(t.step)
	}
	return t, err
}

// artifactFile returns the artifact's file; all steps of a node share one.
func (a *attempt) artifactFile(ns state.Node) (string, error) {
	at := a.command.Location
	if at.Step == "" {
		return a.outputDir.Artifact(), nil
	}
	at.Step = ""
	dir, err := store.NodeAt(a.Plan, at)
	return dir.Iteration(max(1, ns.Loop.Iteration)).Artifact(), err
}

// resultFailure returns why the previous attempt's result was rejected, "" for any other failure or none. Faults of
// its artifact have their own section.
func (a *attempt) resultFailure() string {
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

// feedback returns the first of: the previous attempt's result failure, the feedback of this loop's last iteration,
// that of the node's last one, the reason of the re-entry. Under the strategy focused a step gets only the lines that
// concern it.
func (a *attempt) feedback(ns state.Node) (string, error) {
	if said := a.resultFailure(); said != "" {
		return said, nil
	}
	for _, ref := range []*event.Ref{a.loop().Feedback, ns.Loop.Feedback, ns.Feedback} {
		if ref == nil {
			continue
		}
		text, err := a.Dir.ReadRef(*ref)
		said := strings.TrimRight(string(text), "\n")
		if step := a.command.Location.Step; step != "" && ref != a.loop().Feedback && a.Plan.EffectivePolicy(a.node).Context == briefing.Focused {
			said = briefing.FeedbackForStep(said, step, ns.Order)
		}
		return said, err
	}
	return ns.Cause, nil
}

// unplacedSections returns the contract data that the template does not reference, one section each.
func (a *attempt) unplacedSections(template string, t promptData, paths inputs.Paths) []string {
	var sections []string
	add := func(variable, name, text string) {
		if text != "" && !strings.Contains(template, variable) {
			sections = append(sections, section(name, text))
		}
	}
	add("${ARTIFACT}", "artifact", a.artifactInstructions(t.artifact, paths))
	add("${STEP}", "step "+a.command.Location.Step, string(t.step))
	add("${FEEDBACK}", "feedback", t.feedback)
	return sections
}

// artifactInstructions tells the agent which artifact to make and where to put it; "" without an artifact. For steps
// the prompt has to say which one writes it.
func (a *attempt) artifactInstructions(to inputs.Artifact, paths inputs.Paths) string {
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

// addContextSections appends the previous visit's files and the sections of policy.context, cut to the node's share
// of policy.budget.
func (a *attempt) addContextSections(ctx context.Context, t promptData) (promptData, error) {
	policy, count := a.Plan.EffectivePolicy(a.node), tokens.For(a.node.Provider.Model)
	share, limited, err := a.promptLimit(ctx, policy.Budget)
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
	earlier, err := source.PreviousVisitSections(t.previousVisit)
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

// promptLimit returns the prompt's limit in tokens.
func (a *attempt) promptLimit(ctx context.Context, b *plan.Budget) (limit int, limited bool, err error) {
	var contextTokens int64
	if b.NeedsContext(a.node.ID) {
		provider, err := a.Providers.Provider(ctx, a.node.Provider.Type)
		if err != nil {
			return 0, false, err
		}
		if contextTokens, err = ContextTokens(provider, a.node); err != nil {
			return 0, false, err
		}
	}
	limit, limited = b.Share(a.node.ID, contextTokens)
	return limit, limited, nil
}

// recordPromptBudget records the cuts of a limited prompt, and its length.
func (a *attempt) recordPromptBudget(ctx context.Context, t promptData) {
	for _, c := range t.cuts {
		a.recordInfo(ctx, event.ContextTrimmed, event.ContextTrimmedData{
			Kind: string(c.Kind), Name: event.Truncate(c.Name, event.MaxName),
			OriginalTokens: c.OriginalTokens, OriginalBytes: c.OriginalBytes, KeptTokens: c.KeptTokens, KeptBytes: c.KeptBytes,
		})
	}
	if t.budget != nil {
		a.recordInfo(ctx, event.ContextBuilt, event.ContextBuiltData{Tokens: t.budget.Used, Limit: t.budget.Limit})
	}
}

// recordInfo records an event that no fold reads.
func (a *attempt) recordInfo(ctx context.Context, t event.Type, data any) {
	e := event.New(t, a.command.Location.Cursor(), a.command.Key, data)
	e.Attempt = a.command.Attempt
	if err := a.record(ctx, e); err != nil {
		a.log.Debug("event not recorded", "type", e.Type, "error", err)
	}
}

// faultReport describes the faults of the previous artifact for the agent, one JSON object per line; "" without
// faults.
func (a *attempt) faultReport() string {
	faults := a.loop().Faults
	if len(faults) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The artifact of the last attempt is not what the contract says. Make all of it again, without these faults:\n")
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, f := range faults {
		if err := e.Encode(f); err != nil { // three strings always encode
			panic(fmt.Sprintf("render a fault: %v", err))
		}
	}
	for _, name := range []string{a.iteration.ArtifactCall(), a.iteration.Artifact(), a.iteration.ArtifactJSON()} {
		if info, err := a.Dir.Stat(a.supersededPath(name)); err == nil && info.Mode().IsRegular() {
			fmt.Fprintf(&b, "What it left is in %s\n", a.Dir.Abs(a.supersededPath(name)))
			break
		}
	}
	return b.String()
}
