package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// ask puts the question of a confirm. It is bound to everything that it shows.
func (k *call) ask(again bool) event.Event {
	files := k.files()
	d := event.QuestionAskedData{
		ID: event.QuestionID(k.Command.Key), Kind: event.QuestionConfirm, Hook: k.Command.Hook, Point: string(k.point),
		Text: k.hook.Message, Options: []string{event.AnswerApprove, event.AnswerReject},
		AcceptFeedback: k.hook.AcceptFeedback || k.hook.Supervise,
		Preview:        k.preview(files), Shown: files, Digest: digest(k.hook.Message, k.fromProject(files)), Changed: again,
	}
	if k.hook.Supervise {
		d.Kind = event.QuestionSupervise
	}
	return k.event(event.QuestionAsked, d)
}

// digest is of the question and the files as they are now.
func digest(text string, files []event.Ref) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q\n", text)
	for _, f := range files {
		fmt.Fprintf(&b, "%q %s %d\n", f.Path, f.SHA256, f.Size)
	}
	return event.Digest(b.String())
}

// answered takes a person's answer up, if what they were shown is still so; else they are asked again.
func (k *call) answered(q state.Question) event.Event {
	files := k.files()
	// A question of an older version is bound to the absolute paths.
	if digest(k.hook.Message, k.fromProject(files)) != q.Digest && digest(k.hook.Message, files) != q.Digest {
		k.log.Warn("what was shown has changed since it was answered; the question is asked again")
		return k.ask(true)
	}
	answer := sdk.HookAnswer{Action: sdk.ActionContinue, Reason: q.Answer.Word}
	if q.Answer.By != "" {
		answer.Reason += " by " + q.Answer.By
	}
	if q.Answer.Word == event.AnswerReject { // with text: one without has ended the run
		answer.Action, answer.Context = sdk.ActionRestartStage, k.feedback(q)
	}
	return k.complete(answer)
}

// fromProject are the same files with the paths that they have from the project, where it lies now: an answer counts also after
// the session was moved with it to another place.
func (k *call) fromProject(files []event.Ref) []event.Ref {
	files = slices.Clone(files)
	for i, f := range files {
		if !filepath.IsAbs(f.Path) {
			continue
		}
		if name, err := filepath.Rel(k.Project.Path(), f.Path); err == nil {
			files[i].Path = "/" + filepath.ToSlash(name) // which no path from the session begins with
		}
	}
	return files
}

// feedback is what the stage is told that is sent back.
func (k *call) feedback(q state.Question) string {
	var b strings.Builder
	by := q.Answer.By
	if by == "" {
		by = "a person"
	}
	fmt.Fprintf(&b, "Feedback of %s on the previous attempt at this stage:\n%s\n", by, q.Answer.Text)
	for _, f := range q.Shown {
		fmt.Fprintf(&b, "\nWhat the previous attempt left: %s\n", k.abs(f))
	}
	return b.String()
}

// abs is the absolute path of a file that is shown.
func (k *call) abs(f event.Ref) string {
	if filepath.IsAbs(f.Path) {
		return f.Path
	}
	return k.Dir.Abs(f.Path)
}

func (k *call) open(f event.Ref) (*os.File, error) {
	if !filepath.IsAbs(f.Path) {
		return k.Dir.OpenRegular(f.Path)
	}
	name, err := filepath.Rel(k.Project.Path(), f.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Path, err)
	}
	return k.Project.OpenRegular(filepath.ToSlash(name))
}

// canRestart reports whether there is something at the point that can begin anew.
func canRestart(point plan.HookPoint) bool {
	switch point {
	case plan.PointSessionStart, plan.PointSessionEnd, plan.PointStageStart:
		return false
	default:
		return true
	}
}
