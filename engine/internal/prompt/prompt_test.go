package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// U093, D31: the table of BASH-BEHAVIOUR section 5.
func TestResolve(t *testing.T) {
	v := Vars{
		Context: "/s/context.json", Status: "/s/status.json", Result: "/s/result.json", Session: "demo",
		Iteration: "3", Index: "2", Output: "/s/run-2.md", OutputPath: "docs/x.md", Progress: "/s/progress.md",
		Text: "a & b ${SESSION}",
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
			if diff := cmp.Diff(tt.want, Resolve(tt.template, v)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolveForAContract(t *testing.T) {
	v := Vars{Contract: &Contract{Artifact: "/s/artifact.yaml", InputArtifact: "/s/plan.yaml", Feedback: "${STEP}", Step: `{"id": "s1"}`}}
	want := `/s/artifact.yaml /s/plan.yaml ${STEP} {"id": "s1"} ${X}`
	if diff := cmp.Diff(want, Resolve("${ARTIFACT} ${INPUT_ARTIFACT} ${FEEDBACK} ${STEP} ${X}", v)); diff != "" {
		t.Error(diff)
	}
	for _, name := range ContractVariables {
		if text := "${" + name + "}"; Resolve("<"+text+">", Vars{Contract: &Contract{}}) != "<>" {
			t.Errorf("%s is not replaced", text)
		}
	}
}

func FuzzResolve(f *testing.F) {
	f.Add("${CTX} ${CONTEXT", "${RESULT}")
	f.Fuzz(func(t *testing.T, template, text string) {
		got := Resolve(template, Vars{Text: text})
		if strings.HasSuffix(got, "\n") {
			t.Errorf("Resolve(%q) ends with a newline", template)
		}
		if !strings.Contains(template, "$") && got != strings.TrimRight(template, "\n") {
			t.Errorf("Resolve(%q) = %q without a variable in it", template, got)
		}
	})
}
