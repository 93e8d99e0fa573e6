package watching

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// recorder is an engine that reads real sessions, and records the requests to it.
type recorder struct {
	*engine.Engine
	requests []string
	err      error
}

func (r *recorder) PauseSession(_ context.Context, session, _, by string) error {
	r.requests = append(r.requests, "pause "+session+" by "+by)
	return r.err
}

func (r *recorder) Answer(_ context.Context, o engine.AnswerOptions) error {
	r.requests = append(r.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s by %s: %s", o.Answer, o.Session, o.Question, o.By, o.Text)))
	if o.Digest == "" {
		return errors.New("an answer is bound to the question shown")
	}
	return r.err
}

// watched returns a program that watches the session of package tree's tests, up to the n-th event of a type.
func watched(t testing.TB, until event.Type, n int) (program, *recorder) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, ".claude", "pipeline-runs", "demo")
	copied := func(from, to string) {
		text, err := os.ReadFile(filepath.Join("..", "tree", "testdata", from))
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755), os.WriteFile(filepath.Join(dir, to), text, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	copied("ship.json", "plan.json")
	copied("ship.jsonl", "events.jsonl")
	eng, err := engine.NewEngine(engine.WithWorkDir(root), engine.WithConfigDir(t.TempDir()), engine.WithCacheDir(t.TempDir()), engine.WithProgram("agent-pipelines"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	r := &recorder{Engine: eng}
	f := newFeed(r, "demo", false, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	enough := errors.New("enough")
	err = eng.Follow(t.Context(), "demo", -1, func(u engine.Update) error {
		if err := f.observe(u); err != nil {
			return err
		}
		if u.Event.Type == until {
			if n--; n == 0 {
				return enough
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		t.Fatal(err)
	}
	s, err := eng.Status("demo")
	if err != nil {
		t.Fatal(err)
	}
	f.dir = s.Dir
	if until == "" {
		f.setStatus(s)
	}
	now := f.model.LatestEventTime().Add(5 * time.Second)
	p := program{Options: Options{Engine: r, Session: "demo", By: "ann"}, ctx: t.Context(), feed: f, now: now, width: 80, height: 24, away: &atomic.Bool{}}
	return p, r
}

// press sends keys to the program and applies the result of each key's command.
func press(p program, keys ...string) program {
	for _, name := range keys {
		text := name
		switch name {
		case "space":
			text = " "
		case "up", "down", "pgup", "pgdown", "enter", "esc", "backspace", "ctrl+c", "ctrl+u":
			text = ""
		}
		next, command := p.key(name, text)
		p = next
		if command == nil {
			continue
		}
		if answer, ok := command().(actionResult); ok {
			model, _ := p.Update(answer)
			p = model.(program)
		}
	}
	return p
}

// localTime matches the times that depend on the time zone.
var localTime = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d `)

func render(p program) string {
	var b strings.Builder
	for _, line := range drawView(p.view()) {
		fmt.Fprintln(&b, strings.TrimRight(line.Text(false), " "))
	}
	return localTime.ReplaceAllString(b.String(), "hh:mm:ss ")
}

// A8, A11: the views of a session at several moments, in terminals of several sizes.
func TestViews(t *testing.T) {
	for _, tt := range []struct {
		name  string
		until event.Type
		n     int
		keys  []string
	}{
		{"running", event.Retry, 1, nil},
		{"selected", event.Retry, 1, []string{"up", "up", "up", "up", "up"}},
		{"waiting", "", 0, nil},
		{"sure", "", 0, []string{"a"}},
		{"feedback", "", 0, []string{"r", "m", "o", "r", "e", "space", "x", "backspace", "t", "e", "s", "t", "s"}},
		{"help", "", 0, []string{"?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := watched(t, tt.until, tt.n)
			p = press(p, tt.keys...)
			var out strings.Builder
			for _, size := range [][2]int{{80, 24}, {40, 16}, {160, 50}} {
				p.width, p.height = size[0], size[1]
				fmt.Fprintf(&out, "--- %dx%d\n%s", p.width, p.height, render(p))
			}
			golden(t, filepath.Join("testdata", tt.name+".txt"), out.String())
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(got), 0o644)); err != nil {
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

// Keys do what the help says. U251: an answer counts for the question shown.
func TestKeys(t *testing.T) {
	const id = "q-c1958225"
	for _, tt := range []struct {
		name     string
		asks     bool
		keys     string // with spaces between
		err      error
		requests string // of the engine
		note     string
		prompt   bool
	}{
		{name: "pause", keys: "p", requests: "pause demo by ann", note: "It pauses after"},
		{name: "pause fails", keys: "p", err: errors.New("it does not\x1b[2J run"), requests: "pause demo by ann", note: "it does not [2J run"},
		{name: "approve", asks: true, keys: "a a", requests: "approve demo " + id + " by ann:", note: "is approved"},
		{name: "approve once", asks: true, keys: "a", note: "a again approves " + id},
		{name: "approve, then something else", asks: true, keys: "a j a", note: "a again approves " + id},
		{name: "nothing to approve", keys: "a a", note: "Nothing is asked"},
		{name: "feedback", asks: true, keys: "r n o space x backspace w enter", requests: "reject demo " + id + " by ann: no w", note: "is rejected"},
		{name: "no feedback", asks: true, keys: "r enter", note: "Nothing was answered"},
		{name: "cleared feedback", asks: true, keys: "r n o ctrl+u enter", note: "Nothing was answered"},
		{name: "feedback left", asks: true, keys: "r n o esc"},
		{name: "keys are text while one types", asks: true, keys: "r q p a", prompt: true},
		{name: "nothing to reject", keys: "r", note: "Nothing is asked"},
		{name: "nothing to open with", keys: "o", note: "Neither EDITOR nor PAGER is set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			until, n := event.Retry, 1
			if tt.asks {
				until, n = "", 0
			}
			p, r := watched(t, until, n)
			r.err = tt.err
			p = press(p, strings.Fields(tt.keys)...)
			if got := strings.Join(r.requests, "; "); got != tt.requests {
				t.Errorf("asked for %q, want %q", got, tt.requests)
			}
			if !strings.Contains(p.note, tt.note) || tt.note == "" && p.note != "" || tt.prompt != (p.prompt != nil) {
				t.Errorf("note %q, want %q; prompt %v", p.note, tt.note, p.prompt)
			}
		})
	}
}

// A rejection that would end the session needs the word reject.
func TestFinalRejection(t *testing.T) {
	p, r := watched(t, "", 0)
	st := *p.feed.model.State()
	for id, q := range st.Questions {
		q.AcceptFeedback = false
		st.Questions[id] = q
	}
	if p = press(p, "r", "y", "enter"); len(r.requests) > 0 {
		t.Errorf("asked for %q", r.requests)
	}
	if press(p, "r", "r", "e", "j", "e", "c", "t", "enter"); len(r.requests) != 1 || !strings.HasPrefix(r.requests[0], "reject demo q-") {
		t.Errorf("asked for %q", r.requests)
	}
}

// The lines are bounded, and no update is shown twice.
func TestFeed(t *testing.T) {
	p, r := watched(t, "", 0)
	before := len(p.feed.lines[tree.Position{Path: "4"}])
	if err := r.Follow(t.Context(), "demo", -1, p.feed.observe); err != nil || len(p.feed.lines[tree.Position{Path: "4"}]) != before || before == 0 {
		t.Errorf("%d lines, then %d; %v", before, len(p.feed.lines[tree.Position{Path: "4"}]), err)
	}
	for range 5 * maxLines {
		p.feed.addLine(tree.Position{}, "x")
	}
	if n := len(p.feed.lines[tree.Position{}]); n > 2*maxLines {
		t.Errorf("%d lines are kept", n)
	}
	if hint := p.feed.hint(); !strings.Contains(hint, "agent-pipelines resume demo") {
		t.Errorf("the hint is %q", hint)
	}
}

func TestTail(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long")
	if err := os.WriteFile(long, []byte(strings.Repeat("line\n", 50_000)+"the \x1b[31mend\xff"), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := tail(long)
	if n := len(lines); n > maxOutput/5+2 || lines[n-1] != "the  [31mend" {
		t.Errorf("%d lines, the last is %q", n, lines[n-1])
	}
	if lines := tail(filepath.Join(dir, "none")); lines != nil {
		t.Errorf("of no file: %q", lines)
	}
	if lines := tail(dir); lines != nil {
		t.Errorf("of a directory: %q", lines)
	}
}

// FuzzKeys presses any keys, types and pastes any text, in a terminal of any size: every screenful fits, shows no control
// character, and nothing is answered without its digest.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"jjjj", "kkk?", "rmore\x00 \x1b[31m\r", "aa", "ra\x7f\x7f\x15b\x1b", "fGp", "\x02\x02\x06", "r地基\r"} {
		f.Add(seed, uint8(80), uint8(24))
	}
	names := map[rune]string{'\r': "enter", '\x1b': "esc", '\x7f': "backspace", '\x15': "ctrl+u", '\x02': "pgup", '\x06': "pgdown", '\x10': "up", '\x0e': "down"}
	whole, r := watched(f, "", 0)
	f.Fuzz(func(t *testing.T, text string, width, height uint8) {
		p := whole
		p.width, p.height = int(width), int(height)
		r.requests = nil
		for _, key := range text {
			name, typed := names[key], ""
			if name == "" {
				name, typed = string(key), string(key)
			}
			if key != 'o' || p.prompt != nil {
				p = press(p, name)
			}
			if p.prompt != nil {
				model, _ := p.Update(tea.PasteMsg{Content: typed})
				p = model.(program)
			}
		}
		lines := drawView(p.view())
		if width > 0 && len(lines) != int(height) {
			t.Fatalf("%d lines of %d", len(lines), height)
		}
		for _, line := range lines {
			plain := line.Text(false)
			if line.Columns() > int(width) || strings.ContainsAny(plain, "\x1b\r\n\t\a") {
				t.Fatalf("%q has %d columns of %d", plain, line.Columns(), width)
			}
		}
	})
}
