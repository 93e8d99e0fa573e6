package prompt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Source holds the inputs of an attempt's prompt.
type Source struct {
	*effect.Effect
	Paths       inputs.Paths // paths for the agent
	Context     string       // path of context.json
	StageOutput string       // path of the stage's copy of the output, "" without one
	OutputPath  string       // the node's output_path in the project, "" without one
	// Artifact is the path of the artifact file in the session's directory, "" without an artifact.
	Artifact string
	// FaultyArtifact is the path of the artifact that the previous attempt left, "" without one.
	FaultyArtifact string
	Providers      effect.Providers
}

// Data is the prompt of an attempt and the data in it.
type Data struct {
	Prompt string
	// Artifact, InputArtifact and Step are zero without a contract.
	Artifact      inputs.Artifact
	InputArtifact string          // path of the node's input artifact
	Step          json.RawMessage // the step's item
	Feedback      string
	PreviousVisit contextstrategy.VisitFiles
	Budget        *inputs.Budget // nil without a limit
	cuts          []contextstrategy.Cut
}

// Build builds the prompt: the template with its variables replaced, the data that the template does not reference,
// and the sections of policy.context. If the prompt is too long, Build returns the data with the error.
func (s *Source) Build(ctx context.Context) (Data, error) {
	if s.Node.WrapsCommand() { // a command reads its inputs, not a prompt
		return s.contractData()
	}
	template, err := s.readTemplate()
	if err != nil {
		return Data{}, err
	}
	userContext, err := hook.InjectedContext(s.Dir, s.State, s.Command.Location)
	if err != nil {
		return Data{}, err
	}
	d, err := s.contractData()
	if err == nil {
		d.PreviousVisit, err = contextstrategy.PreviousVisit(s.Dir, s.Plan, s.State, s.Command.Location)
	}
	if err != nil {
		return d, err
	}
	var sections []string
	if s.Node.HasContract() {
		sections = s.unplacedSections(template, d)
	} else {
		sections = nonEmpty(section("feedback", d.Feedback))
	}
	sections = append(sections, nonEmpty(section("artifact faults", s.faultReport()))...)
	text := appendUserContext(template, ReplaceVariables(template, s.values(userContext, d), s.Node.HasContract()), userContext)
	d.Prompt = strings.Join(append([]string{text}, sections...), "\n\n")
	return s.addContextSections(ctx, d)
}

// section returns a text as a section of the prompt, "" for an empty text.
func section(name, text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimRight(contextstrategy.Fence(name, text), "\n")
}

func (s *Source) readTemplate() (string, error) {
	if s.Node.Prompt != "" {
		return s.Node.Prompt, nil
	}
	file, err := s.PromptFile(s.Node)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", failure.New(failure.ConfigInvalid, "read prompt of %s: %w", s.Node.ID, err).
			WithHint("restore this file, which the plan names, or start a new session to compile again")
	}
	return string(b), nil
}

// values returns the values of the template's variables.
func (s *Source) values(userContext string, d Data) map[string]string {
	at := s.Command.Location
	return map[string]string{
		"CTX": s.Context, "STATUS": s.Paths.Status, "RESULT": s.Paths.Result, "OUTPUT": s.StageOutput, "OUTPUT_PATH": s.OutputPath, "PROGRESS": s.Paths.Progress,
		"SESSION": s.State.Session, "ITERATION": strconv.Itoa(at.Iteration), "INDEX": strconv.Itoa(at.Iteration - 1),
		"CONTEXT":  strings.Join(nonEmpty(s.Plan.EffectiveContext(s.Node), userContext), "\n"),
		"ARTIFACT": d.Artifact.Path, "INPUT_ARTIFACT": d.InputArtifact, "FEEDBACK": section("feedback", d.Feedback), "STEP": contextstrategy.Escape(string(d.Step)),
	}
}

// appendUserContext appends the texts of users and hooks to a prompt whose template has no ${CONTEXT}.
func appendUserContext(template, text, userContext string) string {
	if userContext == "" || strings.Contains(template, "${CONTEXT}") {
		return text
	}
	return text + "\n\n" + userContext
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(t string) bool { return t == "" })
}

// contractData returns the data of the node's contract; without a contract only feedback.
func (s *Source) contractData() (Data, error) {
	var d Data
	var err error
	at := s.Command.Location
	ns := s.State.Nodes[at.Outer()]
	if d.Feedback, err = s.feedback(ns); err != nil || !s.Node.HasContract() {
		return d, err
	}
	if c := s.Node.Artifact; c != nil {
		file, err := s.artifactFile(ns)
		if err != nil {
			return d, err
		}
		d.Artifact = inputs.Artifact{Path: s.Dir.Abs(file), Schema: c.Schema}
	}
	if in, has := artifact.FindInput(s.Plan, s.State, s.Node, at); has {
		if d.InputArtifact, err = s.Dir.Verify(in.Ref); err != nil {
			return d, err
		}
	}
	if step, planned := ns.Steps[at.Step]; planned && at.Step != "" {
		d.Step, err = s.Dir.ReadRef(step.Item)
		d.Step = bytes.TrimSpace(d.Step)
	}
	return d, err
}

// artifactFile returns the artifact's file; all steps of a node share one file.
func (s *Source) artifactFile(ns state.Node) (string, error) {
	at := s.Command.Location
	if at.Step == "" {
		return s.Artifact, nil
	}
	at.Step = ""
	dir, err := store.NodeAt(s.Plan, at)
	return dir.Iteration(max(1, ns.Loop.Iteration)).Artifact(), err
}

// resultFailure returns why the previous attempt's result was rejected, "" for any other failure or none. Faults of
// the artifact have their own section.
func (s *Source) resultFailure() string {
	f := s.Loop().Failure
	if f == nil || len(f.Faults) > 0 || !s.Node.HasContract() {
		return ""
	}
	switch failure.Kind(f.ErrorType) {
	case failure.ResultInvalid, failure.ResultMissing:
		return f.Message
	default:
		return ""
	}
}

// feedback returns the first text of these: the previous attempt's result failure, the feedback of the last iteration
// of this loop or of the node, the reason for entering the node. With the context strategy focused, a step gets only
// the lines about this step.
func (s *Source) feedback(ns state.Node) (string, error) {
	if text := s.resultFailure(); text != "" {
		return text, nil
	}
	for _, ref := range []*event.Ref{s.Loop().Feedback, ns.Loop.Feedback, ns.Feedback} {
		if ref == nil {
			continue
		}
		data, err := s.Dir.ReadRef(*ref)
		text := strings.TrimRight(string(data), "\n")
		if step := s.Command.Location.Step; step != "" && ref != s.Loop().Feedback && s.Plan.EffectivePolicy(s.Node).Context == contextstrategy.Focused {
			text = contextstrategy.FeedbackForStep(text, step, ns.Order)
		}
		return text, err
	}
	return ns.Cause, nil
}

// unplacedSections returns the contract data that the template does not reference, one section each.
func (s *Source) unplacedSections(template string, d Data) []string {
	var sections []string
	add := func(variable, name, text string) {
		if text != "" && !strings.Contains(template, variable) {
			sections = append(sections, section(name, text))
		}
	}
	add("${ARTIFACT}", "artifact", s.artifactInstructions(d.Artifact))
	add("${STEP}", "step "+s.Command.Location.Step, string(d.Step))
	add("${FEEDBACK}", "feedback", d.Feedback)
	return sections
}

// artifactInstructions returns the agent's instructions for the artifact, with its path; "" without an artifact. In a
// node with steps, the template must say which step writes the artifact.
func (s *Source) artifactInstructions(to inputs.Artifact) string {
	c := s.Node.Artifact
	if c == nil || s.Command.Location.Step != "" {
		return ""
	}
	var b strings.Builder
	switch c.From {
	case artifact.FromResult:
		fmt.Fprintf(&b, "Put the artifact of this stage into %s, as the member \"artifact\".\n", s.Paths.Result)
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
func (s *Source) addContextSections(ctx context.Context, d Data) (Data, error) {
	policy, count := s.Plan.EffectivePolicy(s.Node), contextstrategy.NewTokenCounter(s.Node.Provider.Model)
	share, limited, err := s.promptLimit(ctx, policy.Budget)
	if err != nil {
		return d, err
	}
	if limited {
		d.Budget = &inputs.Budget{Limit: share, Used: count(d.Prompt)}
		if d.Budget.Used > share {
			return d, failure.New(failure.BudgetExceeded, "the prompt of %s has %d tokens before anything is added to it, and its share is %d", s.Node.ID, d.Budget.Used, share).
				WithHint("shorten the prompt, or raise policy.budget.total or policy.budget.shares.%s", s.Node.ID)
		}
	}
	source := contextstrategy.Source{Effect: s.Effect, Prompt: d.Prompt}
	earlier, err := source.PreviousVisitSections(d.PreviousVisit)
	if err != nil {
		return d, err
	}
	sections, err := source.Sections(policy.Context)
	if err != nil {
		return d, err
	}
	sections = append(earlier, sections...)
	free := -1
	if limited {
		free = max(0, share-count(d.Prompt+"\n\n"))
	}
	sections, d.cuts = contextstrategy.Fit(sections, free, count)
	if len(sections) > 0 {
		d.Prompt += "\n\n" + strings.TrimRight(contextstrategy.Render(sections), "\n")
	}
	if limited {
		d.Budget.Used = count(d.Prompt)
	}
	return d, nil
}

// ContextTokens returns the context size of the provider's model in tokens. It fails if the provider states no size.
func ContextTokens(provider sdk.Provider, n *plan.Node) (int64, error) {
	c := provider.Describe()
	if c.Provider == nil || c.Provider.ContextTokens <= 0 {
		return 0, failure.New(failure.ConfigInvalid, "policy.budget.total of %s is \"model\", and provider %s does not report the context size of its model", n.ID, c.Name).
			WithHint("write a number of tokens instead of \"model\"")
	}
	return c.Provider.ContextTokens, nil
}

// promptLimit returns the prompt's limit in tokens. limited is false if there is none.
func (s *Source) promptLimit(ctx context.Context, b *plan.Budget) (limit int, limited bool, err error) {
	var contextTokens int64
	if b.NeedsContext(s.Node.ID) {
		provider, err := s.Providers.Provider(ctx, s.Node.Provider.Type, s.Node)
		if err != nil {
			return 0, false, err
		}
		if contextTokens, err = ContextTokens(provider, s.Node); err != nil {
			return 0, false, err
		}
	}
	limit, limited = b.Share(s.Node.ID, contextTokens)
	return limit, limited, nil
}

// RecordBudget records the cuts of a limited prompt, and its length.
func (s *Source) RecordBudget(ctx context.Context, d Data) {
	for _, c := range d.cuts {
		s.RecordInfo(ctx, s.Event(event.ContextTrimmed, event.ContextTrimmedData{
			Kind: string(c.Kind), Name: event.Truncate(c.Name, event.MaxName),
			OriginalTokens: c.OriginalTokens, OriginalBytes: c.OriginalBytes, KeptTokens: c.KeptTokens, KeptBytes: c.KeptBytes,
		}))
	}
	if d.Budget != nil {
		s.RecordInfo(ctx, s.Event(event.ContextBuilt, event.ContextBuiltData{Tokens: d.Budget.Used, Limit: d.Budget.Limit}))
	}
}

// faultReport describes the faults of the previous artifact for the agent, one JSON object per line; "" without
// faults.
func (s *Source) faultReport() string {
	faults := s.Loop().Faults
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
	if s.FaultyArtifact != "" {
		fmt.Fprintf(&b, "What it left is in %s\n", s.FaultyArtifact)
	}
	return b.String()
}
