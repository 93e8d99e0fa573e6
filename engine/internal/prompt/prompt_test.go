package prompt

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// U093, D31: each variable is replaced by its value, as in the table of BASH-BEHAVIOUR section 5.
func TestReplaceVariables(t *testing.T) {
	v := map[string]string{
		"CTX": "/s/context.json", "STATUS": "/s/status.json", "RESULT": "/s/result.json", "SESSION": "demo",
		"ITERATION": "3", "INDEX": "2", "OUTPUT": "/s/run-2.md", "OUTPUT_PATH": "docs/x.md", "PROGRESS": "/s/progress.md",
		"CONTEXT": "a & b ${SESSION}", "ARTIFACT": "/s/artifact.yaml",
	}
	tests := []struct{ name, template, want string }{
		{"paths", "${CTX} ${STATUS} ${RESULT} ${PROGRESS} ${PROGRESS_FILE}", "/s/context.json /s/status.json /s/result.json /s/progress.md /s/progress.md"},
		{"place", "${SESSION} ${SESSION_NAME} ${ITERATION} ${INDEX}", "demo demo 3 2"},
		{"outputs", "${OUTPUT}|${OUTPUT_PATH}", "/s/run-2.md|docs/x.md"},
		{"perspective is empty", "[${PERSPECTIVE}]", "[]"},
		{"context is literal", "C=[${CONTEXT}]", "C=[a & b ${SESSION}]"},
		{"unknown stays", "${X} $X ${INPUTS.a} ${}", "${X} $X ${INPUTS.a} ${}"},
		{"whitespace is kept", "  a\n\n b \n\n", "  a\n\n b "},
		{"a contract's stay without one", "${ARTIFACT} ${INPUT_ARTIFACT} ${FEEDBACK} ${STEP}", "${ARTIFACT} ${INPUT_ARTIFACT} ${FEEDBACK} ${STEP}"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			testkit.Equal(t, tt.want, ReplaceVariables(tt.template, v, false))
		})
	}
}

func TestReplaceVariablesForAContract(t *testing.T) {
	v := map[string]string{"ARTIFACT": "/s/artifact.yaml", "INPUT_ARTIFACT": "/s/plan.yaml", "FEEDBACK": "${STEP}", "STEP": `{"id": "s1"}`}
	want := `/s/artifact.yaml /s/plan.yaml ${STEP} {"id": "s1"} ${X}`
	testkit.Equal(t, want, ReplaceVariables("${ARTIFACT} ${INPUT_ARTIFACT} ${FEEDBACK} ${STEP} ${X}", v, true))
	for _, name := range ContractVariables {
		if text := "${" + name + "}"; ReplaceVariables("<"+text+">", nil, true) != "<>" {
			t.Errorf("%s is not replaced", text)
		}
	}
}

func FuzzReplaceVariables(f *testing.F) {
	f.Add("${CTX} ${CONTEXT", "${RESULT}")
	f.Fuzz(func(t *testing.T, template, text string) {
		got := ReplaceVariables(template, map[string]string{"CONTEXT": text}, false)
		if strings.HasSuffix(got, "\n") {
			t.Errorf("Resolve(%q) ends with a newline", template)
		}
		if !strings.Contains(template, "$") && got != strings.TrimRight(template, "\n") {
			t.Errorf("Resolve(%q) = %q without a variable in it", template, got)
		}
	})
}
