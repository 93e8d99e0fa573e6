package screen

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func TestLine(t *testing.T) {
	line := Line{{"ab", Bold}, {"地基", Normal}, {"", Bad}, {"cd", Faint}}
	for _, tt := range []struct {
		limit int
		want  string
	}{
		{8, "\x1b[1mab\x1b[0m地基\x1b[2mcd\x1b[0m"},
		{7, "\x1b[1mab\x1b[0m地基\x1b[2m…\x1b[0m"},
		{6, "\x1b[1mab\x1b[0m地…"},
		{4, "\x1b[1mab\x1b[0m…"},
		{2, "\x1b[1ma…\x1b[0m"},
		{1, "\x1b[1m…\x1b[0m"},
		{0, ""},
	} {
		cut := line.Cut(tt.limit)
		got := cut.Text(true)
		require(t, got == tt.want && cut.Columns() <= tt.limit, got, cut.Columns())
	}
	compare(t, "ab地基cd", line.Text(false))
}

// U247: a user who does not watch the terminal is notified when the session begins to wait, and when a long run ends.
func TestAttention(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ended := func(after time.Duration) *time.Time { e := at.Add(after); return &e }
	asks := map[string]state.Question{"q-1": {Kind: event.QuestionConfirm}}
	running, waiting := &state.State{Lifecycle: state.Lifecycle{Status: state.Running, StartedAt: at}}, &state.State{Lifecycle: state.Lifecycle{Status: state.Running, StartedAt: at}, OpenQuestions: state.OpenQuestions{Questions: asks}}
	const wait, endTitle = "\x1b[22;0t\x1b]0;waiting: demo\a\a", "\x1b]0;\a\x1b[23;0t"
	for _, tt := range []struct {
		name   string
		silent bool
		way    []*state.State
		want   []string
	}{
		{"waits, and continues", false, []*state.State{running, waiting, waiting, running}, []string{"", wait, "", endTitle}},
		{"a long run ends", false, []*state.State{running, {Lifecycle: state.Lifecycle{Status: state.Failed, StartedAt: at, EndedAt: ended(time.Minute)}}}, []string{"", "\a"}},
		{"a short one", false, []*state.State{running, {Lifecycle: state.Lifecycle{Status: state.Completed, StartedAt: at, EndedAt: ended(time.Second)}}}, []string{"", ""}},
		{"a short resume of a long one", false, []*state.State{running, {Lifecycle: state.Lifecycle{Status: state.Completed, StartedAt: at, ResumedAt: ended(time.Hour), EndedAt: ended(time.Hour + time.Second)}}}, []string{"", ""}},
		{"ended by the user", false, []*state.State{running, {Lifecycle: state.Lifecycle{Status: state.Paused, PauseKind: state.PauseSignal, StartedAt: at, EndedAt: ended(time.Hour)}}}, []string{"", ""}},
		{"pauses to ask", false, []*state.State{running, {Lifecycle: state.Lifecycle{Status: state.Paused, PauseKind: state.PauseApproval, StartedAt: at, EndedAt: ended(time.Hour)}, OpenQuestions: state.OpenQuestions{Questions: asks}}}, []string{"", "\a"}},
		{"off", true, []*state.State{running, waiting, {Lifecycle: state.Lifecycle{Status: state.Failed, StartedAt: at, EndedAt: ended(time.Hour)}}}, []string{"", "", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := Notifier{Silent: tt.silent}
			var got []string
			for _, s := range tt.way {
				got = append(got, c.Observe(engine.Update{Session: "demo", State: s}))
			}
			compare(t, tt.want, got)
		})
	}
	for value, want := range map[string]bool{"": false, "0": true, "1": false} {
		compare(t, want, IsSilent(func(name string) string { return map[string]string{"AGENT_PIPELINES_BELL": value}[name] }))
	}
}
