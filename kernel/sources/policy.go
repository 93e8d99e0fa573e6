package sources

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// PolicyOwner is the kind of object that a policy belongs to.
type PolicyOwner int

// The owners of policies.
const (
	PipelinePolicy PolicyOwner = iota
	NodePolicy
	StagePolicy // inside a block
)

// ReadPolicy reads the policy of a pipeline, a node or a stage of a block; nil if absent. The dialect's table checks
// each key; ReadPolicy checks the rules between keys.
func ReadPolicy(m dialect.Map, owner PolicyOwner) *plan.Policy {
	p := &plan.Policy{}
	inner, ok := m.DecodeAt("policy", &dialect.Policy, p)
	if !ok {
		return nil
	}
	checkOwner(inner, p, owner)
	if v := inner.Get("env"); v.Node != nil && checkEnv(inner, v) {
		p.Env = v.JSON()
	}
	if v := inner.Get("sandbox"); v.Node != nil {
		p.Sandbox = sandboxpolicy.Read(inner.Document, v.Node)
	}
	if p.Feedback != nil {
		feedback, _ := inner.Peek("feedback")
		p.Feedback.Enabled = p.Feedback.Enabled || !feedback.Has("enabled")
	}
	if p.Approvals != nil {
		readApprovalLists(inner, p.Approvals)
	}
	if p.Cycles != nil {
		checkCycles(inner, *p.Cycles)
	}
	if p.Budget != nil {
		readBudget(inner, p.Budget)
	}
	if p.Cost != nil {
		checkCost(inner, *p.Cost)
	}
	if p.Tools != nil {
		completeTools(inner, p.Tools)
	}
	if p.Secrets != nil {
		p.Secrets = checkSecrets(inner, p.Secrets)
	}
	return p
}

// checkOwner reports the keys that belong to the policy of another owner.
func checkOwner(m dialect.Map, p *plan.Policy, owner PolicyOwner) {
	if p.Mode != "" && owner != PipelinePolicy {
		m.Errorf(m.KeyPos("mode"), yamldoc.CodeConflict, "write it in the pipeline's policy", "mode applies to a whole pipeline")
		p.Mode = "" // a mode of one node would not keep other nodes from sending the data out
	}
	if owner != NodePolicy && m.Has("required") {
		hint := map[PolicyOwner]string{PipelinePolicy: "write it in the policy of a node", StagePolicy: "write it in the policy of the block"}[owner]
		m.Errorf(m.KeyPos("required"), yamldoc.CodeConflict, hint, "required is a key of nodes")
		p.Required = false
	}
	if budget, _ := m.Peek("budget"); owner != PipelinePolicy && budget.Node != nil && budget.Has("shares") {
		budget.Errorf(budget.KeyPos("shares"), yamldoc.CodeConflict, "write them in the pipeline's policy", "shares divide the budget of a pipeline among its nodes")
	}
}

// checkCycles checks the limits of counted edges.
func checkCycles(policy dialect.Map, c plan.Cycles) {
	if m, _ := policy.Peek("cycles"); c.Max > 0 && c.Default > c.Max {
		at := m.Get("default")
		m.Errorf(at.Pos, yamldoc.CodeRange, "", "default must be at most max, which is %d, not %s", c.Max, at.Source)
	}
}

// readBudget reads the total of the token budget and checks its shares.
func readBudget(policy dialect.Map, b *plan.Budget) {
	m, ok := policy.Peek("budget")
	if !ok {
		return
	}
	b.Total = readBudgetTotal(m)
	sum := 0
	for _, n := range b.Shares {
		sum += n
	}
	if sum > 100 {
		m.Errorf(m.Get("shares").Pos, yamldoc.CodeRange, "", "the shares add up to %d percent, more than 100", sum)
	}
}

// readBudgetTotal returns a number of tokens, or "model" for the context window of the provider's model.
func readBudgetTotal(m dialect.Map) json.RawMessage {
	v := m.Get("total")
	switch {
	case v.Node == nil && !m.Has("total"):
		m.Errorf(m.Node.Pos, yamldoc.CodeMissing, "add total: a number of tokens, or model", "%s has no total", m.Label)
		return nil
	case v.Kind == yamldoc.Text && dialect.TrimNewlines(v.Source) == "model":
		return json.RawMessage(`"model"`)
	case v.Kind == yamldoc.Text:
		if _, ok := dialect.ParseNumber(v.Node); !ok {
			m.Errorf(v.Pos, yamldoc.CodeChoice, "write a number of tokens, or model", "unknown total %q", v.Source)
			return nil
		}
	}
	n, at := m.Count("total")
	if at.Node == nil {
		return nil
	}
	return json.RawMessage(strconv.Itoa(n))
}

// checkCost checks the limits of dollars and tokens.
func checkCost(policy dialect.Map, c plan.Cost) {
	m, ok := policy.Peek("cost")
	if !ok {
		return
	}
	checkBelow(m, "warn_usd", c.WarnUSD, "max_usd", c.MaxUSD, "the run would end before it warns")
	checkBelow(m, "reserve_usd", c.ReserveUSD, "max_usd", c.MaxUSD, "no attempt could begin")
	checkBelow(m, "reserve_tokens", float64(c.ReserveTokens), "max_tokens", float64(c.MaxTokens), "no attempt could begin")
}

// checkBelow reports a number above its bound. A bound of 0 is no bound.
func checkBelow(m dialect.Map, key string, n float64, bound string, most float64, why string) {
	if most > 0 && n > most {
		m.Errorf(m.Get(key).Pos, yamldoc.CodeRange, fmt.Sprintf("at most %v", most), "%s is more than %s: %s", key, bound, why)
	}
}

// completeTools removes repeated commands. An empty list stays: it allows no commands.
func completeTools(policy dialect.Map, t *plan.Tools) {
	m, _ := policy.Peek("tools")
	if v := m.Get("allowed_commands"); v.Node == nil || v.Kind != yamldoc.List {
		return
	}
	commands := []string{}
	for _, command := range t.AllowedCommands {
		if !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	t.AllowedCommands = commands
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv reports whether env is inherit, minimal or a list of names of variables, and adds a fault if it is not.
func checkEnv(m dialect.Map, v dialect.Member) bool {
	choices := dialect.Policy.Choices("env")
	switch {
	case v.Kind == yamldoc.Text && slices.Contains(choices, v.Source):
		return true
	case v.Kind == yamldoc.Text:
		m.Errorf(v.Pos, yamldoc.CodeChoice, dialect.DidYouMean(v.Source, choices)+", or a list of names", "unknown env %q", v.Source)
		return false
	case v.Kind != yamldoc.List:
		m.WrongType(v, "inherit, minimal or a list of names")
		return false
	}
	for _, name := range v.Items {
		if name.Kind != yamldoc.Text || !variableName.MatchString(name.Source) {
			m.Errorf(name.Pos, yamldoc.CodeChoice, "list the names of variables, without values", "%q is not the name of an environment variable", name.Source)
			return false
		}
	}
	return true
}

// ReadGuardrails reads the time limit of a pipeline, a node or a stage; nil if absent.
func ReadGuardrails(m dialect.Map) *plan.Guardrails {
	g := &plan.Guardrails{}
	inner, ok := m.DecodeAt("guardrails", &dialect.Guardrails, g)
	if !ok || g.MaxRuntimeSeconds == 0 {
		return nil
	}
	g.Source = inner.Location(inner.Get("max_runtime_seconds")).String()
	return g
}

// RunLimit returns the guardrail of a run, from guardrails or policy.timeout, which mean the same.
func RunLimit(m dialect.Map, guardrails *plan.Guardrails, policy *plan.Policy) *plan.Guardrails {
	if policy == nil || policy.Timeout == 0 {
		return guardrails
	}
	inner, _ := m.Peek("policy")
	at := inner.Location(inner.Get("timeout"))
	switch {
	case guardrails == nil:
		return &plan.Guardrails{MaxRuntimeSeconds: policy.Timeout, Source: at.String()}
	case guardrails.MaxRuntimeSeconds != policy.Timeout:
		at.Errorf(yamldoc.CodeConflict, "keep one of the two", "policy.timeout is %v seconds, and guardrails.max_runtime_seconds, which means the same, is %v",
			policy.Timeout, guardrails.MaxRuntimeSeconds)
	}
	return guardrails
}
