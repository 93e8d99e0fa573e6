package redaction_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

const (
	hash = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
	key  = "ghp_0123456789012345678901234567890123456789"
)

func ref(path string) event.Ref   { return event.Ref{Path: path, SHA256: hash, Size: 12} }
func refp(path string) *event.Ref { r := ref(path); return &r }
func ptr[T any](v T) *T           { return &v }

func marshalled(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// typical returns realistic data for each type of event. A value of several words is a text; a value of one word is a
// keyword of the engine, an id, a path or a digest.
func typical() map[event.Type][]any {
	usage := &event.Usage{InputTokens: ptr(int64(1200)), OutputTokens: ptr(int64(300)), CacheReadTokens: ptr(int64(9)), CostUSD: ptr(0.25)}
	fail := &event.FailureData{
		Code: "ACODE-EXEC-002", ErrorType: "provider_failed", Message: "the agent ended as failed", Retryable: true, Node: "build", Stage: "build", Step: "step-1",
		Iteration: 2, Attempt: 1, Cause: "because of it", Detail: "the last words of it", Remedy: "check the author's keys", ResumeCommand: "agent-pipelines resume nightly", Usage: usage, ExitCode: ptr(2),
	}
	provider := event.ProviderCompleteData{Provider: "claude", Status: "complete", Failure: fail}
	attempted := event.AttemptCompleteData{Decision: "continue", AgentDecision: "continue", Result: ref("stage-00-build/iterations/001/result.json"), Output: refp("stage-00-build/iterations/001/output.md"), Usage: usage, Model: "opus-4-large", AgentVersion: "2.1.0", DurationMS: 5}
	run := event.RunStartData{Name: "nested-one", N: 1, Max: 3}
	hook := event.HookCompleteData{
		Hook: 1, Point: "iteration_end", Action: "webhook", Answer: "modify_context", Reason: "it said so", Context: refp("hooks/iteration_end-1.md"),
		Facts: json.RawMessage(`{"type":"tests passed","author":"the author of it"}`), Outcome: "success", Question: "q-0a1b2c3d", Failure: fail, DurationMS: 3,
	}
	return map[event.Type][]any{
		event.SessionStart: {event.SessionStartData{
			Mode: "pipeline", Pipeline: "nightly-build", PipelineFile: "/home/me/p/pipeline.yaml", Stage: "improve", StageName: "improve-plan", JournalVersion: 1, SchedulerVersion: 1, PlanSHA256: hash,
			Providers: map[string]event.Provider{"claude": {Type: "claude", Model: "opus-4-large"}}, Flow: &plan.PathOverrides{Skip: []string{"verify"}, Timeouts: map[string]float64{"build": 3}, MaxCycles: 2},
		}},
		event.KernelStart:     {event.KernelStartData{PID: 1, StartTime: "123456789", Version: "v0.1.0-dev", Callbacks: []string{"session_start"}, Waits: true}},
		event.SessionImported: {event.SessionImportedData{State: json.RawMessage(`{"session":"nightly","status":"running","nodes":{"0":{"status":"complete","reason":"all is done"}},"context":"check it"}`), Reason: "a line was lost", History: refp("history-1.json")}},
		event.SessionResumed:  {event.SessionResumedData{By: "ann", Context: "the token: field is missing", Renew: true}},
		event.SessionPaused:   {event.SessionPausedData{Kind: "escalation", Reason: "a user is needed", Question: "q-0a1b2c3d", Code: "ACODE-ORCH-001", By: "ann"}},
		event.SessionComplete: {event.SessionCompleteData{Reason: "all nodes complete"}},
		event.SessionAborted:  {event.SessionAbortedData{Reason: "enough of it", By: "ann"}},
		event.NodeStart: {
			event.NodeStartData{Name: "build-it", Type: "improve", Provider: "claude", Model: "opus-4-large", Runs: 3},
			event.BlockStartData{Name: "block-one", Kind: "parallel", Providers: json.RawMessage(`["claude",{"provider":"openai-codex"}]`), Stages: []string{"improve"}},
			event.PipelineStartData{Name: "nested-one", Kind: "pipeline", Pipeline: "nested-two", Runs: 2},
		},
		event.NodeRunStart: {run}, event.RunStart: {run},
		event.NodeComplete: {event.NodeCompleteData{
			Name: "build-it", Status: "complete", Reason: "its checks passed", Outcome: "success", To: "failed", Edge: "verify:fail->execute", Cycle: 1, Limit: 3, PassHash: hash,
			Artifacts: map[string]event.Ref{"artifact": ref("artifacts/00-build.v1.yaml")}, Failure: fail,
		}},
		event.IterationStart: {event.IterationStartData{Stage: "improve", Type: "improve", Provider: "claude", Model: "opus-4-large", Ref: "improve", StageIndex: ptr(0)}},
		event.IterationComplete: {event.IterationCompleteData{
			Decision: "continue", Reason: "more to do", AgentDecision: "continue", Stage: "improve", Summary: "tokens were counted by the author", FilesTouched: []string{"src/tokens and keys.go"}, ItemsCompleted: []string{"item one"},
			Signals: event.Signals{Risk: "low", Notes: "nothing of note"}, Result: ref("stage-00-build/iterations/001/result.json"), Output: refp("stage-00-build/iterations/001/output.md"), Usage: usage, Model: "opus-4-large",
			Settlement: event.Settlement{Outcome: "success", Message: "it did not pass", Artifact: refp("artifacts/00-build.v1.yaml"), Feedback: refp("stage-00-build/iterations/001/feedback.md"), FailedSteps: []string{"step-1"}},
		}},
		event.AttemptComplete:          {attempted},
		event.WorkerComplete:           {event.WorkerCompleteData{ExitCode: 0, Result: ref("stage-00-build/iterations/001/result.json")}},
		event.AttemptStart:             {struct{}{}},
		event.ParallelProviderStart:    {event.ProviderStartData{Provider: "claude", Stages: []string{"improve"}}},
		event.ParallelProviderComplete: {provider}, event.ParallelProviderFailed: {provider},
		event.Error: {*fail},
		event.Retry: {event.RetryData{Rung: "attempt", N: 2, Max: 4}},
		event.Decision: {event.DecisionData{
			Strategy: "queue-strategy", Action: "continue", Reason: "two say stop", Confidence: 0.5, State: json.RawMessage(`{"token":"next page","stops":1}`), Round: 1,
			Question: &event.QuestionData{Prompt: ref("stage-00-build/iterations/001/question-1.md"), Provider: "claude", Model: "haiku-small"}, Failure: fail,
		}},
		event.StrategyQuestion: {event.StrategyQuestionData{Provider: "claude", Model: "haiku-small", Round: 1}},
		event.StrategyAnswer:   {event.StrategyAnswerData{Error: "no answer came", ErrorType: "provider_failed", Answer: refp("stage-00-build/iterations/001/answer-1.md"), Usage: usage}},
		event.JudgeStart:       {event.JudgeStartData{Provider: "claude", Model: "haiku-small"}},
		event.JudgeComplete:    {event.JudgeCompleteData{Status: "success", Reason: "it is good enough", Result: json.RawMessage(`{"reason":"good enough"}`)}},
		event.TimerSet:         {event.TimerSetData{Purpose: "guardrail", After: time.Second}},
		event.TimerFired:       {struct{}{}},
		event.Control:          {event.ControlData{ID: "c-0a1b2c3d", Action: "feedback", By: "ann", Reason: "let me see", Kind: "signal", Text: "the password: prompt is wrong"}},
		event.QuestionAsked: {event.QuestionAskedData{
			ID: "q-0a1b2c3d", Kind: "escalation", Digest: hash, Text: "may it continue", Options: []string{"approve"}, Hook: 1, Point: "stage_end", Preview: "the beginning of it",
			Shown: []event.Ref{ref("/home/me/p/docs/plan.md")}, Code: "ACODE-ORCH-001", Due: ptr(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
		}},
		event.QuestionAnswered: {event.QuestionAnsweredData{ID: "q-0a1b2c3d", By: "ann", Answer: "approve", Text: "continue with it", Digest: hash, Control: "c-0a1b2c3d"}},
		event.HookStart:        {event.HookStartData{Hook: 1, Point: "iteration_end", Action: "webhook"}},
		event.HookComplete:     {hook}, event.HookTimeout: {hook},
		event.HookSkipped:  {event.HookSkippedData{Hook: 1, Point: "iteration_end", Reason: "its condition is false"}},
		event.CheckResult:  {event.CheckResultData{ID: "unit-tests", Type: "tests", At: "enter-it", Passed: false, Reason: "two tests failed", ExitCode: ptr(1), Counts: map[string]int{"passed": 3}, Facts: refp("stage-00-build/iterations/001/checks/unit.json"), Failure: fail}},
		event.StepsPlanned: {event.StepsPlannedData{Steps: []event.StepData{{ID: "step-1", Title: "write the parser", Action: "WRITE_FILE", DependsOn: []string{"step-0"}, Item: ref("stage-00-build/steps/step-1/step.json")}}, Failure: fail}},
		event.StepStart:    {event.StepStartData{Step: "step-1", Title: "write the parser", N: 1, Total: 2}},
		event.StepComplete: {event.StepCompleteData{Step: "step-1", Title: "write the parser", Status: "complete", Outcome: "success", Reason: "it was made", N: 1, Total: 2, Done: 1, Failure: fail}},
		event.StepBlocked:  {event.StepBlockedData{Step: "step-1", By: "two"}},
		event.ToolCall: {event.ToolCallData{
			CallID: "toolu_01ABCDEF", Tool: "write_file", Effect: "idempotent", Args: json.RawMessage(`{"path":"a b.go","content":"package a // by the author, tokens and all"}`), ArgsRef: refp("stage-00-build/iterations/001/attempts/01/args-0a1b"),
			Category: "file_write", Paths: []string{"a b.go"}, Command: "git status -s", Verdict: "run-it", Reason: "the policy allows it", Rule: "protected", Question: "q-0a1b2c3d",
		}},
		event.ToolResult:      {event.ToolResultData{CallID: "toolu_01ABCDEF", Status: "success", Result: json.RawMessage(`{"path":"a b.go","exit_code":0,"stdout":"all is well"}`), ResultRef: refp("stage-00-build/iterations/001/attempts/01/result-0a1b")}},
		event.Checkpoint:      {event.CheckpointData{Turn: 2, Blob: ref("stage-00-build/iterations/001/attempts/01/checkpoint-2")}},
		event.ArtifactWritten: {event.ArtifactWrittenData{Name: "manifest", Ref: ref("parallel-00-block/manifest.json")}},
		event.InputChecked: {event.InputCheckedData{
			From: "plan", Warnings: []string{"$.a is null"}, Skip: true, Reason: "nothing blocks", Artifact: refp("artifacts/01-clarify.v1.yaml"), Input: refp("artifacts/02-sub.input.yaml"), Failure: fail,
		}},
		event.ArtifactInvalid: {event.ArtifactInvalidData{Node: "plan", Faults: []event.Fault{{Path: "$.tasks[0]", Code: "VAL-001", Message: "is missing"}}, Retried: true}},
		event.ArtifactHealed:  {event.ArtifactHealedData{Node: "plan", Retries: 1}},
		event.ArtifactWarning: {event.ArtifactWarningData{Node: "plan", Message: "$.a is null"}},
		event.StageTransition: {event.StageTransitionData{From: "build-it", To: "verify", Outcome: "success", DurationMS: 3, TokensUsed: ptr(int64(1500))}},
		event.CycleStart:      {event.CycleStartData{Edge: "verify:fail->execute", From: "verify", To: "execute", Count: 1, Limit: 3, Total: 1, Reason: "two tests failed"}},
		event.BudgetWarning:   {event.BudgetWarningData{Scope: "0.1", SpentUSD: 1, WarnUSD: 1, MaxUSD: 2}},
		event.StageTimeout:    {struct{}{}}, event.StageComplete: {struct{}{}}, event.Phase: {event.PhaseData{Node: "plan", Name: "validate_input"}}, event.Turn: {struct{}{}}, event.Progress: {struct{}{}},
		event.TmuxSessionCleaned: {struct{}{}}, event.SurvivorEnded: {struct{}{}},
		event.ContextTrimmed: {event.ContextTrimmedData{Kind: "file", Name: "docs/plan.md", OriginalTokens: 5, KeptTokens: 2}},
		event.ContextBuilt:   {event.ContextBuiltData{Tokens: 5, Limit: 9}},
		event.PluginStarted: {event.PluginData{Plugin: "/usr/bin/agent-plugin-mock", SHA256: hash, PID: 7, Environment: []string{"DEPLOY_TOKEN", "PASSWORD"}, Detail: "its last words", Sandbox: &event.SandboxData{
			Requested: "workspace", AskedNetwork: "loopback", Mode: "workspace", Network: "loopback", Read: []string{"/usr/share"}, Write: []string{"/home/me/p"}, Lacks: []string{"no landlock here"},
		}}},
		event.PluginCrashed: {event.PluginData{Plugin: "/usr/bin/agent-plugin-mock", Detail: "its last words", Environment: []string{}}},
		event.LateDelivery: {event.LateDeliveryData{
			Kind: "file", Attempt: 1, AbandonReason: "iteration_timeout", Count: 2, Bytes: 7, Tools: []string{"write_file"}, Path: "stage-00-build/iterations/001/result.json",
			KeptFile: refp("stage-00-build/iterations/001/attempts/02/late-result.json"),
			Type:     event.Error, Data: marshalled(*fail),
		}},
		event.SecretFound:    {event.SecretFoundData{Path: "docs/deploy.md", Line: 3, Rule: "github-token", Count: 1}},
		event.MessageRefused: {event.MessageRefusedData{Path: "inbox/bad/m.json", Reason: "invalid signature: the message has none", Remedy: "if it was yours, send it again: `⟨program⟩ questions show s`"}},
		event.Notified:       {event.NotifiedData{Entry: 1, Action: "webhook", Point: "waiting", Question: "q-0a1b2c3d", Times: 1, Error: "there was no answer"}},
	}
}

// The table has every event type: the treatment of a new type needs a decision.
func TestEveryTypeHasATreatment(t *testing.T) {
	file := testkit.Must(parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "..", "kernel", "event", "type.go"), nil, 0))
	samples := typical()
	for n := range ast.Preorder(file) {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			continue
		}
		name := testkit.Must(strconv.Unquote(v.Values[0].(*ast.BasicLit).Value))
		if _, found := samples[event.Type(name)]; !found {
			t.Errorf("%s has no data here", name)
		}
	}
}

// U180: typical data does not change: a name such as tokens, author or key does not count as the name of a secret.
func TestNothingButSecretsChanges(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh"})
	each(func(e event.Event) {
		if got := redaction.Event(r, e); string(got.Data) != string(e.Data) {
			t.Errorf("%s\n got %s\nwant %s", e.Type, got.Data, e.Data)
		}
	})
}

// U180, D8: a secret is removed from every text; a keyword that steers the run stays, even if it equals a password.
func TestTextsAndKeywords(t *testing.T) {
	free := []string{"agent_version", "content", "path", "risk"} // texts of agents, which may have only one word
	each(func(e event.Event) {
		for _, leaf := range leaves(t, e.Data) {
			if strings.Contains(leaf.text, " ") && leaf.name() != "resume_command" {
				secret := strings.Replace(string(e.Data), leaf.text, leaf.text+" "+key, 1)
				got := redaction.Event(redact.New(nil), event.Event{Type: e.Type, Data: json.RawMessage(secret)})
				if !strings.Contains(secret, key) || strings.Contains(string(got.Data), key) {
					t.Errorf("%s: %v: a secret in a text stays: %s", e.Type, leaf.names, got.Data)
				}
				continue
			}
			if slices.Contains(free, leaf.name()) && !strings.Contains(leaf.text, "/") || leaf.name() == "environment" {
				continue
			}
			got := redaction.Event(redact.New([]string{"X_SECRET=" + leaf.text}), e)
			if !slices.ContainsFunc(leaves(t, got.Data), func(l textLeaf) bool { return slices.Equal(l.names, leaf.names) && l.text == leaf.text }) {
				t.Errorf("%s: %v: the word %q goes: %s", e.Type, leaf.names, leaf.text, got.Data)
			}
		}
	})
}

// No secrets are guessed in a user's message to an agent and in a strategy's own data; exact values are removed
// there, too.
func TestNoGuessedSecretsInAgentMessages(t *testing.T) {
	r := redact.New([]string{"A_TOKEN=xyzzy-plugh"})
	for _, tt := range []struct {
		t          event.Type
		data, want any
	}{
		{event.SessionResumed, event.SessionResumedData{Context: "set TOKEN=abc, not xyzzy-plugh"}, event.SessionResumedData{Context: "set TOKEN=abc, not [REDACTED]"}},
		{event.Control, event.ControlData{ID: "c", Text: "password: hunter2", Reason: "password: hunter2"}, event.ControlData{ID: "c", Text: "password: hunter2", Reason: "password: [REDACTED]"}},
		{event.Decision, event.DecisionData{State: json.RawMessage(`{"token":"p2","x":"xyzzy-plugh"}`)}, event.DecisionData{State: json.RawMessage(`{"token":"p2","x":"[REDACTED]"}`)}},
		{event.ToolCall, event.ToolCallData{CallID: "c", Args: json.RawMessage(`{"token":"p2","id":"` + key + `"}`)}, event.ToolCallData{CallID: "c", Args: json.RawMessage(`{"token":"[REDACTED]","id":"[REDACTED]"}`)}},
	} {
		got, want := redaction.Event(r, event.New(tt.t, nil, "", tt.data)), event.New(tt.t, nil, "", tt.want)
		if string(got.Data) != string(want.Data) {
			t.Errorf("%s\n got %s\nwant %s", tt.t, got.Data, want.Data)
		}
	}
}

func TestFailure(t *testing.T) {
	d := event.FailureData{Code: "C", ErrorType: "provider_failed", Message: "push with " + key, Detail: "password: hunter2", Remedy: "say less", ResumeCommand: "agent-pipelines resume a"}
	want := d
	want.Message, want.Detail = "push with [REDACTED]", "password: [REDACTED]"
	d.Faults = []event.Fault{{Path: "$.a", Code: "VAL-008", Message: "must be one of a, not " + key}}
	want.Faults = []event.Fault{{Path: "$.a", Code: "VAL-008", Message: "must be one of a, not [REDACTED]"}}
	testkit.Equal(t, want, redaction.Failure(redact.New(nil), d))
}

func TestResult(t *testing.T) {
	doc := `{"summary":"TOKEN=abc","decision":"stop","artifact":{"env":"TOKEN=abc","key":"` + key + `"},"steps":{"s2":"failed"}}`
	want := `{"summary":"TOKEN=[REDACTED]","decision":"stop","artifact":{"env":"TOKEN=abc","key":"[REDACTED]"},"steps":{"s2":"failed"}}`
	testkit.Equal(t, want, string(redaction.Result(redact.New(nil), []byte(doc))))
	if redaction.Result(redact.New(nil), nil) != nil {
		t.Error("a result that is not there is there")
	}
}

func each(f func(event.Event)) {
	for kind, all := range typical() {
		for _, d := range all {
			f(event.New(kind, nil, "", d))
		}
	}
}

type textLeaf struct {
	names []string
	text  string
}

func (l textLeaf) name() string { return l.names[len(l.names)-1] }

// leaves returns the texts of a document.
func leaves(t *testing.T, doc []byte) (all []textLeaf) {
	t.Helper()
	var v any
	if err := json.Unmarshal(doc, &v); err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	var walk func(names []string, v any)
	walk = func(names []string, v any) {
		switch v := v.(type) {
		case string:
			all = append(all, textLeaf{slices.Clone(names), v})
		case []any:
			for _, e := range v {
				walk(names, e)
			}
		case map[string]any:
			for k, e := range v {
				walk(append(slices.Clone(names), k), e)
			}
		}
	}
	walk(nil, v)
	return all
}

// BenchmarkEvent measures the redaction of events without secrets.
func BenchmarkEvent(b *testing.B) {
	r := redact.New(os.Environ()).WithVariables([]string{"A_TOKEN=0123456789abcdef", "B_SECRET=fedcba9876543210"})
	for _, kind := range []event.Type{event.IterationStart, event.IterationComplete, event.ToolCall} {
		e := event.New(kind, nil, "", typical()[kind][0])
		b.Run(string(kind), func(b *testing.B) {
			for b.Loop() {
				redaction.Event(r, e)
			}
		})
	}
}

// A scan returns at most 100 secrets and reports that there are more; the next scan returns those, and then none is left.
func TestScanFiles(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for i := range 103 {
		names = append(names, strconv.Itoa(i)+".txt")
		if err := os.WriteFile(filepath.Join(dir, names[i]), []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := testkit.Must(store.OpenProject(dir))
	t.Cleanup(func() { _ = p.Close() })
	var secrets redaction.SecretDedup
	for _, want := range []struct {
		count int
		more  bool
	}{{100, true}, {3, false}, {0, false}} {
		found, more := secrets.ScanFiles(p, redact.New(nil), names)
		if len(found) != want.count || more != want.more {
			t.Errorf("%d secrets, more %t, want %+v", len(found), more, want)
		}
	}
}
