package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// stageVerb is the short form `<stage> [session] [max]`.
type stageVerb struct{ loopVerb }

func (v *stageVerb) run(ctx context.Context, a *app) error {
	err := v.loopVerb.run(ctx, a)
	var missing *kernel.NotFoundError
	if errors.As(err, &missing) && missing.What == "stage" && missing.Name == v.Stage {
		return a.unknownWord(missing)
	}
	if errors.Is(err, errBackground) {
		return a.unknownOrBackground(v.Stage)
	}
	return err
}

// unknownOrBackground explains a first word that is no verb, and that cannot run as a stage for want
// of --foreground, whether there is such a stage or not.
func (a *app) unknownOrBackground(word string) error {
	hint := fmt.Sprintf("%s %s --foreground runs the stage; with CI=true in the environment --foreground is the default", program, word)
	if near := nearest.Name(word, commandNames(a.parser.Model.Node)); near != "" {
		hint = fmt.Sprintf("did you mean `%s %s`?\n%s", program, near, hint)
	}
	return usageError(fmt.Sprintf("unknown command '%s'; if it is a stage, this version runs it in the foreground only", word), "%s", hint)
}

// unknownWord explains a first word that is neither a verb nor a stage.
func (a *app) unknownWord(missing *kernel.NotFoundError) error {
	return &unknownWord{NotFoundError: missing, verb: nearest.Name(missing.Name, commandNames(a.parser.Model.Node))}
}

// unknownWord is a first word that names nothing.
type unknownWord struct {
	*kernel.NotFoundError
	verb string // the nearest one, "" for none
}

func (e *unknownWord) Error() string {
	return fmt.Sprintf("unknown command '%s': no verb and no stage has this name", e.Name)
}

// Unwrap makes it a [kernel.NotFoundError].
func (e *unknownWord) Unwrap() error { return e.NotFoundError }

// Hint puts the nearest verb before what is known of stages.
func (e *unknownWord) Hint() string {
	if e.verb == "" {
		return e.NotFoundError.Hint()
	}
	return fmt.Sprintf("did you mean `%s %s`?\n%s", program, e.verb, e.NotFoundError.Hint())
}
