package tree_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorded is a session that was run once with mock agents. Its plan has an artifact, steps made from it, a parallel
// block and a pipeline within the pipeline. One attempt of the inner pipeline fails, and the fifth node ends with a
// question.
type recorded []engine.Update

func load(t testing.TB) recorded {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, ".claude", "pipeline-runs", "demo")
	for from, to := range map[string]string{"ship.json": "plan.json", "ship.jsonl": "events.jsonl"} {
		text, err := os.ReadFile(filepath.Join("testdata", from))
		if err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	eng, err := engine.NewEngine(engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	err = eng.Follow(t.Context(), "demo", -1, func(u engine.Update) error { r = append(r, u); return nil })
	if err := errors.Join(err, eng.Close(t.Context())); err != nil || len(r) < 80 {
		t.Fatalf("%d updates, %v", len(r), err)
	}
	return r
}

// feed gives a model the events up to the n-th of a type, all for n = 0.
func (r recorded) feed(m *tree.Model, until event.Type, n int) {
	for _, u := range r {
		m.Observe(u)
		if u.Event.Type == until {
			if n--; n == 0 {
				return
			}
		}
	}
}

func report(at event.Location, tool, message string, in int64) engine.Update {
	return engine.Update{Session: "demo", Report: &engine.Report{
		At: at, Branch: at.Branch, Progress: sdk.Progress{Tool: tool, Message: message}, Usage: &sdk.Usage{InputTokens: &in},
	}}
}

// A8, A11: the tree of a session at moments of its life, in terminals of several sizes, with and without color.
func TestDraw(t *testing.T) {
	r := load(t)
	for _, moment := range []struct {
		name  string
		until event.Type
		n     int
		then  func(*tree.Model)
	}{
		{"begun", event.SessionStart, 1, nil},
		{"steps", event.StepStart, 2, func(m *tree.Model) {
			m.Observe(report(event.Location{Node: "1", Visit: 1, Run: 1, Step: "b", Iteration: 2}, "Edit", "editing\x1b[2J main.go", 400))
		}},
		{"block", event.IterationStart, 6, func(m *tree.Model) {
			m.Observe(report(event.Location{Node: "2.0", Visit: 1, Run: 1, Branch: "left", Iteration: 1}, "", "thinking of 地基 and of much else that does not fit into any line", 30))
		}},
		{"failing", event.TimerSet, 1, nil},
		{"retried", event.Retry, 1, nil},
		{"waiting", event.QuestionAsked, 1, nil},
		{"paused", event.SessionPaused, 1, nil},
		{"crashed", event.Retry, 1, (*tree.Model).Crash},
	} {
		t.Run(moment.name, func(t *testing.T) {
			var m tree.Model
			r.feed(&m, moment.until, moment.n)
			if moment.then != nil {
				moment.then(&m)
			}
			var out strings.Builder
			for _, size := range []struct {
				width, height int
				options       tree.DrawOptions
				color         bool
			}{
				{80, 24, tree.DrawOptions{}, false},
				{80, 24, tree.DrawOptions{Select: true, Selected: 3}, true},
				{80, 6, tree.DrawOptions{}, false},
				{40, 12, tree.DrawOptions{}, false},
				{160, 50, tree.DrawOptions{}, false},
			} {
				options := size.options
				options.Width, options.Height, options.Now = size.width, size.height, m.LatestEventTime().Add(5*time.Second)
				fmt.Fprintf(&out, "--- %dx%d color=%v\n", size.width, size.height, size.color)
				lines := tree.Draw(&m, options)
				checkSize(t, lines, size.width, size.height)
				for _, line := range lines {
					fmt.Fprintln(&out, strings.ReplaceAll(strings.TrimRight(line.Text(size.color), " "), "\x1b", "^"))
				}
			}
			golden(t, filepath.Join("testdata", moment.name+".txt"), localTime.ReplaceAllString(out.String(), "until hh:mm:ss"))
		})
	}
}

// localTime matches the times that depend on the time zone.
var localTime = regexp.MustCompile(`until \d\d:\d\d:\d\d`)

func checkSize(t *testing.T, lines []screen.Line, width, height int) {
	t.Helper()
	if len(lines) > height {
		t.Errorf("%d lines in %d", len(lines), height)
	}
	for _, line := range lines {
		if line.Columns() > width {
			t.Errorf("%q has %d columns of %d", line.Text(false), line.Columns(), width)
		}
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// A drawing never has more lines or columns than the terminal, however small the terminal is.
func TestDrawFits(t *testing.T) {
	r := load(t)
	var m tree.Model
	for _, u := range r {
		m.Observe(u)
		for _, size := range [][2]int{{10, 3}, {20, 5}, {80, 10}, {200, 60}} {
			for selected := -1; selected < 14; selected += 5 {
				lines := tree.Draw(&m, tree.DrawOptions{Width: size[0], Height: size[1], Now: m.LatestEventTime(), Select: true, Selected: selected, Head: true})
				checkSize(t, lines, size[0], size[1])
			}
		}
	}
	if lines := tree.Draw(&tree.Model{}, tree.DrawOptions{}); lines != nil {
		t.Errorf("of nothing: %v", lines)
	}
}

// U135: the events determine the rows, whatever was drawn before.
func TestRows(t *testing.T) {
	r := load(t)
	mark := func(m *tree.Model) string {
		var all []string
		for _, row := range m.Rows(m.LatestEventTime()) {
			name := strings.Repeat(".", row.Depth) + row.Name
			all = append(all, name+" "+[]string{"pending", "running", "waiting", "resting", "done", "failed", "skipped"}[row.Mark])
		}
		return strings.Join(all, "; ")
	}
	for _, tt := range []struct {
		name  string
		until event.Type
		n     int
		want  string
	}{
		{"begun", event.SessionStart, 1, "plan pending; build pending; ideas pending; .left pending; .right pending; polish pending; .draft pending; .rest pending; review pending; ship pending"},
		{"in a step", event.StepStart, 2, "plan done; build running; .step 1/3 done; .step 2/3 running; .step 3/3 pending; ideas pending; .left pending; .right pending; polish pending; .draft pending; .rest pending; review pending; ship pending"},
		{"one provider done", event.ParallelProviderComplete, 1, "plan done; build done; ideas running; .left done; .right running; polish pending; .draft pending; .rest pending; review pending; ship pending"},
		{"in the inner pipeline", event.Retry, 1, "plan done; build done; ideas done; .left done; .right done; polish running; .draft running; .rest pending; review pending; ship pending"},
		{"asked", event.SessionPaused, 1, "plan done; build done; ideas done; .left done; .right done; polish done; .draft done; .rest done; review waiting; ship pending"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m tree.Model
			r.feed(&m, tt.until, tt.n)
			if diff := cmp.Diff(tt.want, mark(&m)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Consumption adds up over attempts, also failed attempts, and over the nodes of embedded pipelines.
func TestUsage(t *testing.T) {
	used := func(r recorded) map[string]string {
		var m tree.Model
		r.feed(&m, "", 0)
		got := map[string]string{}
		for _, row := range m.Rows(m.LatestEventTime()) {
			for _, f := range row.Facts {
				if strings.Contains(f.Text, "tokens") && row.Branch == "" && row.Step == "" {
					got[row.Name] = f.Text
				}
			}
		}
		return got
	}
	r := load(t)
	want := map[string]string{
		"plan": "980 tokens, $0.0120", "build": "381 tokens, $0.0045", "ideas": "508 tokens, $0.0060", "polish": "514 tokens, $0.0061",
		"draft": "387 tokens, $0.0046", "rest": "127 tokens, $0.0015", "review": "127 tokens, $0.0015",
	}
	if diff := cmp.Diff(want, used(r)); diff != "" {
		t.Error(diff)
	}
	failed := slices.IndexFunc(r, func(u engine.Update) bool { return u.Event.Type == event.Error })
	begunBefore := map[string]string{"polish": "6 tokens, $0.0001", "draft": "6 tokens, $0.0001"}
	if diff := cmp.Diff(begunBefore, used(r[failed:failed+1])); diff != "" {
		t.Errorf("of an attempt that began before the first event: %s", diff)
	}
}

// A thousand steps do not enlarge the drawing: rows far from the running step are folded.
func TestFold(t *testing.T) {
	r := load(t)
	var m tree.Model
	r.feed(&m, event.StepStart, 2)
	many := *m.State()
	node := many.Nodes["1"]
	node.Steps, node.Order = map[string]state.Step{}, nil
	for i := range 1000 {
		id, status := fmt.Sprintf("s%03d", i), state.StepComplete
		if i == 500 {
			status = state.StepRunning
		} else if i > 500 {
			status = state.StepPending
		}
		node.Order = append(node.Order, id)
		node.Steps[id] = state.Step{Status: status}
	}
	many.Nodes["1"] = node
	e := event.New(event.Progress, nil, "", struct{}{})
	m.Observe(engine.Update{Session: "demo", Event: &e, State: &many, Plan: r[0].Plan})
	var text []string
	for _, line := range tree.Draw(&m, tree.DrawOptions{Width: 80, Height: 8, Now: m.LatestEventTime()}) {
		text = append(text, strings.TrimSpace(line.Text(false)))
	}
	if !slices.ContainsFunc(text, func(l string) bool { return strings.Contains(l, "step 501/1000") }) || !strings.HasPrefix(text[len(text)-1], "⋮ ") {
		t.Errorf("%q", text)
	}
}

// In the Markdown table, the texts of agents and questions are escaped.
func TestMarkdown(t *testing.T) {
	r := load(t)
	var m tree.Model
	if text := tree.Markdown(&m, m.LatestEventTime()); text != "" {
		t.Errorf("of nothing: %q", text)
	}
	r.feed(&m, event.SessionPaused, 1)
	st := *m.State()
	for id, q := range st.Questions {
		q.Text = "| <b>ship</b> `it`? @everyone"
		st.Questions[id] = q
	}
	golden(t, filepath.Join("testdata", "summary.md"), tree.Markdown(&m, m.LatestEventTime()))
}
