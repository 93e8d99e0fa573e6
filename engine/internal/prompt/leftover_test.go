package prompt_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

func TestLeftovers(t *testing.T) {
	for name, tt := range map[string]struct {
		template string
		contract bool
		want     []prompt.Leftover
	}{
		"none":                     {"plain $CTX, ${ctx}, ${1}, ${}", false, nil},
		"known ones":               {"${CTX} ${SESSION_NAME}", false, nil},
		"unknown":                  {"a\n é ${WRONG_VAR}\n", false, []prompt.Leftover{{"${WRONG_VAR}", 2, 4}}},
		"inputs":                   {"${INPUTS.plan} ${INPUTS}", false, []prompt.Leftover{{"${INPUTS.plan}", 1, 1}, {"${INPUTS}", 1, 16}}},
		"a known one with a point": {"${CTX.x}", false, []prompt.Leftover{{"${CTX.x}", 1, 1}}},
		"of a contract":            {"${STEP} ${ARTIFACT}", true, nil},
		"of a contract, without":   {"${STEP}", false, []prompt.Leftover{{"${STEP}", 1, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Equal(t, tt.want, prompt.Leftovers(tt.template, tt.contract))
		})
	}
}

// ReplaceVariables replaces all of Variables.
func TestReplacedVariables(t *testing.T) {
	for _, name := range prompt.Variables {
		if text := "${" + name + "}"; prompt.ReplaceVariables("<"+text+">", nil, false) != "<>" {
			t.Errorf("%s is not replaced", text)
		}
	}
}

func FuzzLeftovers(f *testing.F) {
	f.Add("${WRONG} ${CTX}\n\xff${A.b}")
	f.Fuzz(func(t *testing.T, template string) {
		contract := len(template)%2 == 0
		resolved := prompt.ReplaceVariables(template, nil, contract)
		for _, l := range prompt.Leftovers(template, contract) {
			if l.Line < 1 || l.Column < 1 || !strings.Contains(template, l.Text) {
				t.Errorf("%+v is not in the template", l)
			}
			if !strings.Contains(resolved, l.Text) {
				t.Errorf("%+v was replaced", l)
			}
		}
	})
}

// U154: `stages show` reports the variables of a prompt.
func TestUsedVariables(t *testing.T) {
	got := prompt.Used("${RESULT} ${CONTEXT} ${RESULT} ${lower} ${INPUTS.x} $ARTIFACT ${NOTHING} ${ARTIFACT}")
	testkit.Equal(t, []string{"RESULT", "CONTEXT", "ARTIFACT"}, got)
}
