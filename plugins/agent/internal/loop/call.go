package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// attempt is a call that is about to be made, or answered without that: the i-th of its reply.
type attempt struct {
	i        int
	refusal  *Refusal         // it is not made
	known    *sdk.ResumedCall // it was made before a crash
	prepared Prepared
	verdict  sdk.Verdict
	done     Done
}

// changes reports whether nothing may happen at the same time.
func (a *attempt) changes() bool {
	return a.refusal == nil && a.known == nil && a.prepared.Call.Effect != sdk.EffectNone
}

// act makes the calls of the last reply that are not made yet, and saves what came of them. The claim is that the work is
// over, nil if nobody says so or it does not hold.
func (l *loop) act(ctx context.Context) (*claim, error) {
	t := l.talk.last()
	if t == nil {
		return nil, nil //nolint:nilnil // nobody claims anything
	}
	if len(t.Reply.Calls) == 0 {
		return l.spoken(t), nil
	}
	if !t.pending() {
		return nil, nil //nolint:nilnil // nobody claims anything
	}
	if err := l.makeCalls(ctx, t); err != nil {
		return nil, err
	}
	end, err := l.finished(ctx, t)
	if err != nil || end != nil {
		return end, err
	}
	l.remind(t)
	l.talk.trim()
	return nil, l.save(ctx)
}

// makeCalls makes all calls but finish: reads that follow each other side by side, everything else alone, in order.
func (l *loop) makeCalls(ctx context.Context, t *turn) error {
	l.Tools.Keep(l.talk.reads())
	var batch []*attempt
	for i, call := range t.Reply.Calls {
		if t.Made[i].Done || call.Name == finishTool {
			continue
		}
		if call.Name == l.finish.tool {
			l.handOver(t, i)
			continue
		}
		a := l.prepare(t, i)
		if !a.changes() {
			batch = append(batch, a)
			continue
		}
		for _, b := range [][]*attempt{batch, {a}} {
			if err := l.perform(ctx, t, b); err != nil {
				return err
			}
		}
		batch = nil
	}
	return l.perform(ctx, t, batch)
}

// callID is the same whenever the same reply is worked on.
func callID(t *turn, i int) string {
	return fmt.Sprintf("t%d.%d-%s", t.N, i+1, short(t.Reply.Calls[i].ID, 80))
}

// prepare looks at whether and how a call is to be made.
func (l *loop) prepare(t *turn, i int) *attempt {
	call, id := t.Reply.Calls[i], callID(t, i)
	wrong := func(format string, args ...any) *attempt {
		return &attempt{i: i, refusal: &Refusal{sdk.ToolError, codeArgs, fmt.Sprintf(format, args...)}}
	}
	known, again := l.known[id]
	switch {
	case known.Result != nil:
		return &attempt{i: i, known: &known}
	case t.Made[i].Tainted && l.resumed(t):
		return wrong("the run was interrupted, and this call's arguments held a secret that is not kept over that. " +
			"It is not known whether it was made. Look, then make it again if it is needed.")
	case i >= maxCalls:
		return wrong("not made: more than %d calls in one reply", maxCalls)
	case call.Malformed != "":
		return wrong("the arguments are no JSON object: %s", call.Malformed)
	}
	prepared, refusal := l.Tools.Prepare(call.Name, call.Args, again)
	prepared.Call.CallID, prepared.Call.Turn = id, t.N
	return &attempt{i: i, prepared: prepared, refusal: refusal}
}

// perform asks for the verdicts on calls in order, makes those that may be made side by side, and reports each as it ends.
func (l *loop) perform(ctx context.Context, t *turn, batch []*attempt) error {
	for _, a := range batch {
		if err := l.rule(ctx, t, a); err != nil {
			return err
		}
	}
	var running sync.WaitGroup
	for _, a := range batch {
		if a.verdict.Action == sdk.VerdictRun {
			running.Go(func() {
				a.done = a.prepared.Run(ctx)
				l.Exchange.Result(sdk.ToolResult{CallID: a.prepared.Call.CallID, Status: a.done.Status, Result: a.done.Data})
			})
		}
	}
	running.Wait()
	for _, a := range batch {
		if a.refusal == nil && a.known == nil {
			l.conclude(t, a)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// rule answers a call that is not made, or asks for the verdict on it.
func (l *loop) rule(ctx context.Context, t *turn, a *attempt) (err error) {
	switch {
	case a.known != nil:
		l.answer(t, a.i, a.known.Call, *a.known.Result, "")
	case a.refusal != nil:
		l.refuse(t, a.i, *a.refusal)
	default:
		l.progress(progressOf(a.prepared.Call), a.prepared.Call.Tool)
		a.verdict, err = l.Exchange.Call(ctx, a.prepared.Call)
	}
	return err
}

// conclude takes what became of a call into the talk.
func (l *loop) conclude(t *turn, a *attempt) {
	call := a.prepared.Call
	result := sdk.ToolResult{CallID: call.CallID, Status: a.done.Status, Result: a.done.Data}
	switch a.verdict.Action {
	case sdk.VerdictRun:
		if a.verdict.Reason != "" {
			t.Note = addLine(t.Note, "A person allowed "+call.Tool+" and said: "+a.verdict.Reason)
		}
		l.talk.changed(a.done.Changed)
	case sdk.VerdictUse:
		if a.verdict.Result != nil {
			result = *a.verdict.Result
		}
		result.CallID = call.CallID
		l.Exchange.Result(result)
	case sdk.VerdictSkip:
		result.Status, result.Result = sdk.ToolDenied, errorData("", "skipped, as a person or the policy wants; go on without it: "+a.verdict.Reason)
		l.Exchange.Result(result)
	default:
		result.Status, result.Result = sdk.ToolDenied, errorData(codeDenied, "not allowed: "+a.verdict.Reason)
		l.Exchange.Result(result)
	}
	l.answer(t, a.i, call, result, a.done.Key)
}

// answer takes a result into the talk.
func (l *loop) answer(t *turn, i int, call sdk.ToolCall, result sdk.ToolResult, key string) {
	m := made{Done: true, Status: result.Status, Text: string(result.Result), Tainted: t.Made[i].Tainted}
	if m.Text == "" {
		m.Text = "{}"
	}
	l.talk.refused(errorCode(result.Result))
	if result.Status == sdk.ToolSuccess {
		if call.Tool != terminalTool || exitCode(result.Result) == 0 {
			l.talk.did(call.Tool)
		}
		if writes(call.Category) {
			l.talk.changed(call.Paths)
		}
	}
	if key != "" && !slices.Contains(l.talk.reads(), key) { // else it said "unchanged"
		m.Read = key
	}
	m.Brief = brief(t.Reply.Calls[i], m)
	t.Made[i] = m
}

// reads are the keys of what the model still sees in full.
func (t *talk) reads() []string {
	var keys []string
	for _, turn := range t.Turns {
		for _, m := range turn.Made {
			if m.Read != "" {
				keys = append(keys, m.Read)
			}
		}
	}
	return keys
}

// refuse answers a call that never reaches the kernel's verdict; the journal hears of it all the same.
func (l *loop) refuse(t *turn, i int, r Refusal) {
	call := t.Reply.Calls[i]
	id, data := callID(t, i), errorData(r.Code, r.Message)
	l.Exchange.Observe(sdk.ToolCall{CallID: id, Tool: call.Name, Args: call.Args, Effect: sdk.EffectNone, Turn: t.N})
	l.Exchange.ObserveResult(sdk.ToolResult{CallID: id, Status: r.Status, Result: data})
	l.talk.refused(r.Code)
	m := made{Done: true, Status: r.Status, Text: string(data), Tainted: t.Made[i].Tainted}
	m.Brief = brief(call, m)
	t.Made[i] = m
}

// terminalTool is the tool whose success is an exit code.
const terminalTool = "run_terminal"

// exitCode is that of a command, 0 where the result has none.
func exitCode(result json.RawMessage) int {
	var ended struct {
		ExitCode int `json:"exit_code"`
	}
	_ = json.Unmarshal(result, &ended)
	return ended.ExitCode
}

// errorCode is the code of a result that says what is wrong, "" for any other.
func errorCode(result json.RawMessage) string {
	var data struct{ Error struct{ Code string } }
	_ = json.Unmarshal(result, &data)
	return data.Error.Code
}

func writes(c sdk.Category) bool {
	return c == sdk.CategoryFileWrite || c == sdk.CategoryFileDelete || c == sdk.CategoryDirectoryCreate
}

// errorData is a result that says what is wrong.
func errorData(code, message string) json.RawMessage {
	var data struct {
		Error struct {
			Code    string `json:"code,omitempty"`
			Message string `json:"message"`
		} `json:"error"`
	}
	data.Error.Code, data.Error.Message = code, message
	raw, err := json.Marshal(data)
	if err != nil { // strings can always be encoded
		panic(err)
	}
	return raw
}

func progressOf(c sdk.ToolCall) string {
	switch {
	case c.Command != "":
		return c.Tool + " " + short(c.Command, 120)
	case len(c.Paths) > 0:
		return c.Tool + " " + short(c.Paths[0], 120)
	default:
		return c.Tool
	}
}

func addLine(text, line string) string {
	if text == "" {
		return line
	}
	return text + "\n" + line
}

// trouble is the name of the first call of the turn that failed.
func (t *turn) trouble() (name string, there bool) {
	for i, m := range t.Made {
		if m.Done && m.Status != sdk.ToolSuccess {
			return t.Reply.Calls[i].Name, true
		}
	}
	return "", false
}
