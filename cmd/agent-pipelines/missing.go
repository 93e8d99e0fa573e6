package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// missing is what to say about a word that a line lacks: what there is to be named.
func (a *app) missing(arranged arrangement, text string) string {
	expected, lacks := strings.CutPrefix(text, "expected ")
	if !lacks {
		return ""
	}
	words := slices.DeleteFunc(slices.Clone(arranged.args), func(w string) bool { return strings.HasPrefix(w, "-") })
	line := strings.Join(append([]string{program}, words...), " ")
	switch first, _, _ := strings.Cut(strings.Trim(expected, `"`), " "); {
	case first == "<session>":
		return a.newestSession(line)
	case first == "<pipeline>":
		return fmt.Sprintf("`%s pipelines list` shows which there are; ", program)
	case first == "<stage>":
		return fmt.Sprintf("`%s stages list` shows which there are; ", program)
	case arranged.verb == "dry-run" && len(words) == 2: // the kind was left out
		return fmt.Sprintf("did you mean `%s dry-run pipeline %s`, or `%s dry-run loop %s`? ", program, words[1], program, words[1])
	case arranged.verb == "dry-run":
		return fmt.Sprintf("`%s dry-run pipeline NAME`, or `loop` and the name of a stage; ", program)
	case strings.HasPrefix(expected, `"`) && !strings.HasPrefix(first, "<"): // there is but one verb of it
		return fmt.Sprintf("say `%s %s`; ", line, strings.Trim(expected, `"`))
	default:
		return ""
	}
}

// newestSession names the session that somebody most likely means who names none.
func (a *app) newestSession(line string) string {
	name := ""
	err := a.use(context.Background(), func(e *kernel.Engine) error {
		sessions, err := e.Sessions()
		if len(sessions) > 0 {
			name = sessions[0].Session
		}
		return err
	})
	if err != nil {
		return "" // what is wrong with the project is not what was asked
	}
	if name == "" {
		return "there is no session here yet; "
	}
	return fmt.Sprintf("of the newest: `%s %s`; `%s list` shows all; ", line, name, program)
}
