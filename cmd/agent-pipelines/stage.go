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
	return err
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
