package judge

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const allVariables = `judge ${STAGE_NAME} at ${ITERATION}
criteria: ${TERMINATION_CRITERIA}
result: ${RESULT_JSON}
progress: [${PROGRESS_MD}]
output: [${NODE_OUTPUT}]
history: [${ITERATION_HISTORY}]
unknown: ${OTHER}
`

func TestPrompt(t *testing.T) {
	b := newFixture(t)
	b.write(t, "scripts/prompts/judge.md", allVariables)
	for i := 1; i <= 3; i++ {
		b.req.Outputs = append(b.req.Outputs, sdk.FileRef{Path: b.write(t, fmt.Sprintf("out/%d.md", i), fmt.Sprintf("output %d ${ITERATION}\n\n", i))})
	}
	b.req.Progress.Path = b.write(t, "progress.md", "# Progress\n- learnt\n")
	b.req.Iteration, b.req.Stage, b.req.Result = 3, "polish", []byte(`{"summary": "s", "n": 1}`)
	b.req.Config = []byte(`{"criteria":"it is flat"}`)
	want := `judge polish at 3
criteria: it is flat
result: {"summary":"s","n":1}
progress: [# Progress
- learnt]
output: [output 3 ${ITERATION}]
history: [### Iteration 1
output 1 ${ITERATION}

### Iteration 2
output 2 ${ITERATION}

]
unknown: ${OTHER}`
	if diff := cmp.Diff(want, b.decide(t).Question.Prompt); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPromptWithNothingToShow(t *testing.T) {
	b := newFixture(t)
	b.write(t, "scripts/prompts/judge.md", allVariables)
	b.req.Outputs = []sdk.FileRef{{Path: b.dir + "/never-written.md"}}
	b.req.Config = []byte(`{"criteria":{"max_issues": 0}}`)
	want := `judge refine at 5
criteria: {"max_issues":0}
result: {}
progress: []
output: []
history: []
unknown: ${OTHER}`
	if diff := cmp.Diff(want, b.decide(t).Question.Prompt); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPromptIsBounded(t *testing.T) {
	b := newFixture(t)
	b.write(t, "scripts/prompts/judge.md", "${NODE_OUTPUT}|${PROGRESS_MD}|${ITERATION_HISTORY}")
	long := strings.Repeat("é", maxOutputBytes)
	for i := 1; i <= 6; i++ {
		b.req.Outputs = append(b.req.Outputs, sdk.FileRef{Path: b.write(t, fmt.Sprintf("out/%d.md", i), fmt.Sprintf("begin %d %s end %d\n", i, long, i))})
	}
	b.req.Progress.Path = b.write(t, "progress.md", "first line"+strings.Repeat("x", maxProgressBytes)+"last line")
	b.req.Iteration = 6
	prompt := b.decide(t).Question.Prompt
	if limit := maxOutputBytes + maxProgressBytes + maxHistoryBytes + 1000; len(prompt) > limit || !utf8.ValidString(prompt) {
		t.Fatalf("prompt of %d bytes, limit %d", len(prompt), limit)
	}
	output, rest, _ := strings.Cut(prompt, "|")
	progress, history, _ := strings.Cut(rest, "|")
	if !strings.HasPrefix(output, "[the first ") || !strings.HasSuffix(output, " end 6") {
		t.Errorf("output from %.40q", output)
	}
	if !strings.HasPrefix(progress, "[the first ") || !strings.HasSuffix(progress, "xlast line") {
		t.Errorf("progress from %.40q", progress)
	}
	if !strings.HasPrefix(history, "[the iterations up to 4 are left out]\n\n### Iteration 5\n[the first ") || !strings.HasSuffix(history, " end 5\n\n") {
		t.Errorf("history from %.60q", history)
	}
}

func TestUnreadableFiles(t *testing.T) {
	tests := []struct {
		name   string
		change func(*fixture)
	}{
		{"output", func(b *fixture) { b.req.Outputs = []sdk.FileRef{{Path: b.dir}} }},
		{"progress", func(b *fixture) { b.req.Progress.Path = b.dir }},
		{"path", func(b *fixture) { b.req.Progress.Path = "a\x00b" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newFixture(t)
			tt.change(b)
			if _, err := b.Decide(t.Context(), b.req); failure.KindOf(err) != failure.StrategyFailed {
				t.Errorf("got %v", err)
			}
		})
	}
}
