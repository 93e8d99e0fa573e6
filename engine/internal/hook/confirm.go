package hook

import (
	"cmp"
	"fmt"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// askQuestion returns the question of a confirm. The digest covers the question's text and the content of shown files.
func (k *call) askQuestion(again bool) event.Event {
	files := k.shownFiles()
	d := event.QuestionAskedData{
		ID: event.QuestionID(k.Command.Key), Kind: event.QuestionConfirm, Hook: k.Command.Hook, Point: string(k.point),
		Text: k.hook.Message, Options: []string{event.AnswerApprove, event.AnswerReject},
		AcceptFeedback: k.hook.AcceptFeedback || k.hook.Supervise,
		Preview:        k.preview(files), Shown: files, Digest: digest(k.hook.Message, files), Changed: again,
	}
	if k.hook.Supervise {
		d.Kind = event.QuestionSupervise
	}
	return k.Event(event.QuestionAsked, d)
}

// digest returns the digest of the question's text and of the files' current content. It does not depend on paths.
func digest(text string, files []event.Ref) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n", text)
	for _, f := range files {
		fmt.Fprintf(&b, "%s %d\n", f.SHA256, f.Size)
	}
	return event.Digest(b.String())
}

// applyAnswer applies the user's answer if the shown files are unchanged; otherwise it asks again.
func (k *call) applyAnswer(q state.Question) event.Event {
	files := k.shownFiles()
	if digest(k.hook.Message, files) != q.Digest {
		k.Log.Warn("the shown files changed after the answer; asking again")
		return k.askQuestion(true)
	}
	answer := sdk.HookAnswer{Action: sdk.ActionContinue, Reason: q.Answer.Option}
	if q.Answer.By != "" {
		answer.Reason += " by " + q.Answer.By
	}
	if q.Answer.Option == event.AnswerReject { // with text; a rejection without text has ended the run
		answer.Action, answer.Context = sdk.ActionRestartStage, k.feedback(q)
	}
	return k.complete(answer)
}

// feedback returns the user's feedback for the stage that runs again.
func (k *call) feedback(q state.Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Feedback of %s on the previous attempt at this stage:\n%s\n", cmp.Or(q.Answer.By, "the user"), q.Answer.Text)
	for _, f := range q.Shown {
		fmt.Fprintf(&b, "\nWhat the previous attempt left: %s\n", k.abs(f))
	}
	return b.String()
}
