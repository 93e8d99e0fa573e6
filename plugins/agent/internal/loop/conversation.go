package loop

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// conversationVersion is the version of a checkpoint's format.
const conversationVersion = 1

// conversation is the loop's state of its attempt. Its JSON is the checkpoint.
type conversation struct {
	Version int `json:"version"`
	// Turn counts the model's replies.
	Turn  int    `json:"turn"`
	Turns []turn `json:"turns"`
	// DroppedCalls counts the calls of dropped turns.
	DroppedCalls int `json:"left,omitempty"`
	// Window limits the results that are kept in full.
	Window int `json:"window"`
	// SilentReplies counts the latest replies in a row without calls.
	SilentReplies int `json:"silent,omitempty"`
	// Usage is the sum of all replies, GuessedTokens the estimated tokens of replies without reported usage.
	Usage         sdk.Usage `json:"usage"`
	GuessedTokens int64     `json:"guessed,omitempty"`
	HasReply      bool      `json:"asked,omitempty"`
	Model         string    `json:"model,omitempty"`
	// Artifact is the artifact that was handed over last, nil for none.
	Artifact json.RawMessage `json:"artifact,omitempty"`
	facts
}

// facts are the observed effects of the attempt, whatever the model claims.
type facts struct {
	// SucceededTools lists the tools that succeeded; run_terminal only with a command that ended with exit code 0.
	SucceededTools []string `json:"did,omitempty"`
	// ChangedFiles are the changed files, in the order of the first change.
	ChangedFiles []string `json:"changed,omitempty"`
	// ReachedOutside is true if a call was refused because it reached outside the allowed limits.
	ReachedOutside bool `json:"outside,omitempty"`
	// Violations counts these calls, also those before a resume.
	Violations int `json:"violations,omitempty"`
	// RefusalCode is the code of the last refused call.
	RefusalCode string `json:"refused,omitempty"`
}

// turn is one reply with the results of its calls.
type turn struct {
	N     int           `json:"n"`
	Reply model.Message `json:"reply"`
	// Results are the results of the reply's calls, in the same order.
	Results []callRecord `json:"made,omitempty"`
	// Note is a message to the model besides the results.
	Note string `json:"note,omitempty"`
}

// callRecord records the result of a call.
type callRecord struct {
	Done   bool           `json:"done,omitempty"`
	Status sdk.ToolStatus `json:"status,omitempty"`
	// Text is the result for the model. Summary is the line that replaces Text when IsCut is set.
	Text    string `json:"text,omitempty"`
	Summary string `json:"brief,omitempty"`
	IsCut   bool   `json:"cut,omitempty"`
	// ReadKey is the key of a read with a full result, "" otherwise.
	ReadKey string `json:"read,omitempty"`
	// HasSecret is true if the arguments hold a secret that no checkpoint keeps.
	HasSecret bool `json:"tainted,omitempty"`
}

func (t *conversation) lastTurn() *turn {
	if len(t.Turns) == 0 {
		return nil
	}
	return &t.Turns[len(t.Turns)-1]
}

// isPending reports whether a call of the turn has no result yet.
func (t *turn) isPending() bool {
	return t != nil && slices.ContainsFunc(t.Results, func(m callRecord) bool { return !m.Done })
}

// messages returns the conversation as messages for the service.
func (t *conversation) messages(prompt string) []model.Message {
	if t.DroppedCalls > 0 {
		prompt += fmt.Sprintf("\n\n[%d earlier tool calls of yours and their results are no longer shown.]", t.DroppedCalls)
	}
	out := []model.Message{{Role: model.User, Text: prompt}}
	for _, turn := range t.Turns {
		out = append(out, turn.Reply, turn.resultMessage())
	}
	return out
}

// resultMessage returns the message that follows the reply.
func (t *turn) resultMessage() model.Message {
	if len(t.Results) == 0 {
		return model.Message{Role: model.User, Text: t.Note}
	}
	m := model.Message{Role: model.Results, Text: t.Note}
	for i, done := range t.Results {
		m.Results = append(m.Results, model.Result{CallID: t.Reply.Calls[i].ID, Text: done.Text, Error: done.Status != sdk.ToolSuccess})
	}
	return m
}

// recordSuccess records that a tool succeeded.
func (f *facts) recordSuccess(tool string) {
	if !slices.Contains(f.SucceededTools, tool) {
		f.SucceededTools = append(f.SucceededTools, tool)
	}
}

// maxChanged limits the list of changed files.
const maxChanged = 500

func (f *facts) recordChanges(files []string) {
	for _, file := range files {
		if len(f.ChangedFiles) < maxChanged && !slices.Contains(f.ChangedFiles, file) {
			f.ChangedFiles = append(f.ChangedFiles, file)
		}
	}
}

func (f *facts) recordRefusal(code string) {
	switch code {
	case tool.CodeSandbox:
		f.ReachedOutside, f.RefusalCode = true, code
		f.Violations++
	case tool.CodeDenied:
		f.RefusalCode = code
	}
}

// callOrFinish answers a reply without calls.
const callOrFinish = "You called no tool. Continue with a tool call, or call finish if the work is done or cannot be done."

// maxCalls limits the calls of one reply that are made.
const maxCalls = 16

// readKeys returns the keys of the reads whose full result the model still has.
func (t *conversation) readKeys() []string {
	var keys []string
	for _, turn := range t.Turns {
		for _, m := range turn.Results {
			if m.ReadKey != "" {
				keys = append(keys, m.ReadKey)
			}
		}
	}
	return keys
}

// failedCall returns the name of the first failed call of the turn.
func (t *turn) failedCall() (name string, found bool) {
	for i, m := range t.Results {
		if m.Done && m.Status != sdk.ToolSuccess {
			return t.Reply.Calls[i].Name, true
		}
	}
	return "", false
}

// refusalFailure returns the failure of an attempt that needed a refused call, nil if no call was refused.
func (f *facts) refusalFailure() *failure.Error {
	switch {
	case f.RefusalCode == tool.CodeDenied:
		return failure.New(failure.ApprovalDenied, "the agent could not continue without a tool call that was denied").
			WithHint("see `questions` and policy.approvals; allow the call, or change the task so that it is not needed")
	case f.ReachedOutside:
		return failure.New(failure.SandboxViolation, "the agent needed something outside the workspace or a command that is not allowed").
			WithHint("see the calls in calls.jsonl; change the task, or policy.tools.allowed_commands")
	default:
		return nil
	}
}

// maxViolations is the default of the calls that may be refused in an attempt.
const maxViolations = 10

// checkViolations returns a failure if more calls were refused than the limits allow.
func (f *facts) checkViolations(limits sdk.ToolLimits) error {
	most := cmp.Or(limits.MaxViolations, maxViolations)
	if f.Violations <= most {
		return nil
	}
	return failure.New(failure.SandboxViolation, "%d calls of the agent were refused, more than the %d of policy.sandbox.max_violations", f.Violations, most).
		WithHint("see the calls in calls.jsonl; change the task, policy.tools.allowed_commands or policy.sandbox.max_violations")
}

// spentTokens returns the tokens that count against a limit; cache reads do not.
func (t *conversation) spentTokens() int64 {
	n := t.GuessedTokens
	for _, part := range []*int64{t.Usage.InputTokens, t.Usage.OutputTokens, t.Usage.CacheWriteTokens} {
		if part != nil {
			n += *part
		}
	}
	return n
}

// remind warns the model, at the end of a turn, that few turns are left.
func (t *turn) remind(left int) {
	var note string
	switch left {
	case 1:
		note = "You have one turn left: call finish now."
	case 2, 3:
		note = fmt.Sprintf("You have %d turns left.", left)
	}
	t.addNote(note)
}

func (t *turn) addNote(text string) { t.Note = strings.TrimSpace(t.Note + " " + text) }

// sameAgain is the note to the turn before the last repetition.
const sameAgain = "You repeat yourself: the same calls had the same results before. Do something else: the attempt ends if you repeat them once more."

// maxPeriod is the longest sequence of turns whose repetition is recognised.
const maxPeriod = 3

// repetitions counts how often the latest turns repeat in a row: one turn, or a sequence of period turns, with the same
// calls and the same results.
func (t *conversation) repetitions() (n, period int) {
	for p := 1; p <= maxPeriod; p++ {
		same := 0
		for i := len(t.Turns) - 1; i >= 0; i-- {
			if like := &t.Turns[len(t.Turns)-1-same%p]; len(like.Reply.Calls) == 0 || !t.Turns[i].equals(like) {
				break
			}
			same++
		}
		if same/p > n {
			n, period = same/p, p
		}
	}
	return n, period
}

// duration matches the time of a command in its result.
var duration = regexp.MustCompile(`"duration_ms":\d+`)

// equals reports whether both turns made the same calls with the same results. The time of a command does not count.
func (t *turn) equals(other *turn) bool {
	return slices.EqualFunc(t.Reply.Calls, other.Reply.Calls, func(a, b model.Call) bool {
		return a.Name == b.Name && bytes.Equal(a.Args, b.Args) && a.Malformed == b.Malformed
	}) && slices.EqualFunc(t.Results, other.Results, func(a, b callRecord) bool {
		return a.Status == b.Status && duration.ReplaceAllString(a.Text, "") == duration.ReplaceAllString(b.Text, "")
	})
}
