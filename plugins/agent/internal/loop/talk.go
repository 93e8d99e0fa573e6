package loop

import (
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// talkVersion is that of a checkpoint's form.
const talkVersion = 1

// talk is all that the loop knows of its attempt. It is the checkpoint.
type talk struct {
	Version int `json:"version"`
	// Turn counts the model's replies.
	Turn  int    `json:"turn"`
	Turns []turn `json:"turns"`
	// Left counts the calls of turns that are not kept any more.
	Left int `json:"left,omitempty"`
	// Window is how many results are kept in full.
	Window int `json:"window"`
	// Silent counts the last replies that asked for no call.
	Silent int `json:"silent,omitempty"`
	// Usage is of all replies, Guessed the tokens of those of which the service did not tell any.
	Usage   sdk.Usage `json:"usage"`
	Guessed int64     `json:"guessed,omitempty"`
	Asked   bool      `json:"asked,omitempty"`
	Model   string    `json:"model,omitempty"`
	// Artifact is what was handed over last by a tool of its own, nil for nothing.
	Artifact json.RawMessage `json:"artifact,omitempty"`
	facts
}

// facts are what is known of what was done, whatever the model says.
type facts struct {
	// Did has the tools that succeeded; run_terminal only with a command that ended with exit code 0.
	Did []string `json:"did,omitempty"`
	// Changed are the files that were changed, in the order of the first change.
	Changed []string `json:"changed,omitempty"`
	// Outside: a call was refused since it reached outside of what is allowed.
	Outside bool `json:"outside,omitempty"`
	// Refused is the code of the last call that was not allowed.
	Refused string `json:"refused,omitempty"`
}

// turn is one reply and what came of it.
type turn struct {
	N     int           `json:"n"`
	Reply model.Message `json:"reply"`
	// Made are the calls of the reply, in its order.
	Made []made `json:"made,omitempty"`
	// Note is what the model is told beside the results.
	Note string `json:"note,omitempty"`
}

// made is what became of a call.
type made struct {
	Done   bool           `json:"done,omitempty"`
	Status sdk.ToolStatus `json:"status,omitempty"`
	// Text is what the model is told, Brief one line of it that is left when Text is cut.
	Text  string `json:"text,omitempty"`
	Brief string `json:"brief,omitempty"`
	Cut   bool   `json:"cut,omitempty"`
	// Read is the key of what a read shows in full, "" for all else.
	Read string `json:"read,omitempty"`
	// Tainted: the arguments hold a secret that no checkpoint keeps.
	Tainted bool `json:"tainted,omitempty"`
}

func fresh() talk { return talk{Version: talkVersion, Window: fullResults} }

func (t *talk) last() *turn {
	if len(t.Turns) == 0 {
		return nil
	}
	return &t.Turns[len(t.Turns)-1]
}

// pending reports whether a call of the turn is not answered yet.
func (t *turn) pending() bool {
	return t != nil && slices.ContainsFunc(t.Made, func(m made) bool { return !m.Done })
}

// messages is the talk for the service.
func (t *talk) messages(prompt string) []model.Message {
	if t.Left > 0 {
		prompt += fmt.Sprintf("\n\n[%d earlier tool calls of yours and their results are not shown any more.]", t.Left)
	}
	out := []model.Message{{Role: model.User, Text: prompt}}
	for _, turn := range t.Turns {
		out = append(out, turn.Reply, turn.answer())
	}
	return out
}

// answer is what the model is told after its reply.
func (t *turn) answer() model.Message {
	if len(t.Made) == 0 {
		return model.Message{Role: model.User, Text: t.Note}
	}
	m := model.Message{Role: model.Results, Text: t.Note}
	for i, done := range t.Made {
		m.Results = append(m.Results, model.Result{CallID: t.Reply.Calls[i].ID, Text: done.Text, Error: done.Status != sdk.ToolSuccess})
	}
	return m
}

// did notes that a tool succeeded.
func (f *facts) did(tool string) {
	if !slices.Contains(f.Did, tool) {
		f.Did = append(f.Did, tool)
	}
}

// maxChanged bounds the list of changed files.
const maxChanged = 500

func (f *facts) changed(files []string) {
	for _, file := range files {
		if len(f.Changed) < maxChanged && !slices.Contains(f.Changed, file) {
			f.Changed = append(f.Changed, file)
		}
	}
}

func (f *facts) refused(code string) {
	switch code {
	case codeOutside:
		f.Outside, f.Refused = true, code
	case codeDenied:
		f.Refused = code
	}
}
