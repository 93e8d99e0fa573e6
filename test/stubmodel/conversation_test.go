package stubmodel

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTurnsInOrder(t *testing.T) {
	turns := []Turn{{Text: "one"}, {Text: "two", Times: 2}, {Text: "three"}}
	cases := []struct {
		name   string
		after  After
		want   []string
		faults int
	}{
		{"the last is repeated by default", "", []string{"one", "two", "two", "three", "three", "three"}, 0},
		{"last", AfterLast, []string{"one", "two", "two", "three", "three"}, 0},
		{"error", AfterError, []string{"one", "two", "two", "three", "stub model server: the script has no more turns"}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, client := load(t, Script{Turns: turns, After: c.after})
			var got []string
			for range c.want {
				got = append(got, messageText(t, client.ask(t, server.Base("it"), question(false, "go"))))
			}
			compare(t, c.want, got)
			if faults := server.Faults("it"); len(faults) != c.faults {
				t.Errorf("got faults %q, want %d", faults, c.faults)
			}
		})
	}
}

func TestSideRequestsDoNotCountAsTurns(t *testing.T) {
	server, client := load(t, Script{
		Turns: []Turn{{Text: "the answer"}}, After: AfterError,
		Side: &Turn{Text: "a title"}, SideRE: "SUGGESTION MODE",
	})
	noTools := `{"model":"m","messages":[{"role":"user","content":"name this"}]}`
	var got []string
	for _, body := range []string{noTools, question(false, "[SUGGESTION MODE: x]"), question(false, "work")} {
		got = append(got, messageText(t, client.ask(t, server.Base("it"), body)))
	}
	compare(t, []string{"a title", "a title", "the answer"}, got)
	var sides []bool
	for _, r := range server.Requests("it") {
		sides = append(sides, r.Side)
	}
	if diff := cmp.Diff([]bool{true, true, false}, sides); diff != "" {
		t.Errorf("recorded as side (-want +got):\n%s", diff)
	}
}

func TestExpectationsHoldTheTurn(t *testing.T) {
	failed := true
	turn := Turn{Text: "continue", Expect: &Expect{ToolResult: `^wrote {{path}}$`}}
	cases := []struct {
		name   string
		expect Expect
		want   string // part of the fault, "" if the expectation is met
	}{
		{"all fit", Expect{Model: "^claude-", System: "brief", Prompt: "PATH=", ToolResult: "wrote", Body: `"tools"`}, ""},
		{"variable is literal", Expect{ToolResult: `^wrote {{path}}$`}, ""},
		{"model", Expect{Model: "opus"}, `expected model: nothing like "opus" in "claude-test"`},
		{"system", Expect{System: "verbose"}, `expected system: nothing like "verbose" in "Be brief."`},
		{"prompt", Expect{Prompt: "nothing of it"}, "expected prompt"},
		{"tool result", Expect{ToolResult: "^denied"}, `expected tool_result: nothing like "^denied" in "wrote /tmp/a+b.txt"`},
		{"tool error", Expect{ToolError: &failed}, "expected tool_error: true: got false"},
		{"body", Expect{Body: "absent"}, "bytes more"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			server, client := load(t, Script{
				Captures: map[string]string{"path": `(?m)^PATH=(.+)$`},
				Turns:    []Turn{{Text: "fits", Expect: &c.expect}, turn},
			})
			body := question(false, strings.Repeat("long ", 50)+"\nPATH=/tmp/a+b.txt", "wrote /tmp/a+b.txt")
			got := client.ask(t, server.Base("it"), body)
			if c.want == "" {
				if text := messageText(t, got); text != "fits" {
					t.Errorf("got %q", text)
				}
				return
			}
			if text := messageText(t, got); got.Status != 400 || !strings.Contains(text, c.want) {
				t.Errorf("got status %d, %q; want 400 and %q", got.Status, text, c.want)
			}
			again := client.ask(t, server.Base("it"), body)
			if again.Status != 400 {
				t.Errorf("the second try got status %d: the turn did not wait", again.Status)
			}
			if faults := server.Faults(""); len(faults) != 2 || !strings.Contains(faults[0], "turn 1: "+"expected") {
				t.Errorf("recorded faults %q", faults)
			}
		})
	}
}

func TestCaptureThatDoesNotMatch(t *testing.T) {
	server, client := load(t, Script{
		Captures: map[string]string{"path": `PATH=(\S+)`},
		Turns:    []Turn{{Text: "no need of it"}, {Text: "write {{path}}"}},
	})
	if got := messageText(t, client.ask(t, server.Base("it"), question(false, "no path"))); got != "no need of it" {
		t.Errorf("got %q", got)
	}
	got := client.ask(t, server.Base("it"), question(false, "no path"))
	want := "stub model server: turn 2: no value for path: the capture did not match the user's text, nor the tool results"
	if text := messageText(t, got); got.Status != 400 || text != want {
		t.Errorf("got status %d, %q; want 400, %q", got.Status, text, want)
	}
	if got := messageText(t, client.ask(t, server.Base("it"), question(false, "PATH=/x"))); got != "write /x" {
		t.Errorf("got %q after the path was given", got)
	}
}

// TestConcurrentRequests checks that concurrent requests receive each turn exactly once.
func TestConcurrentRequests(t *testing.T) {
	const asks = 40
	var turns []Turn
	for i := range asks {
		turns = append(turns, Turn{Text: strconv.Itoa(i)})
	}
	server, client := load(t, Script{Turns: turns, After: AfterError})
	answers := make([]reply, asks)
	var asking sync.WaitGroup
	for i := range asks {
		asking.Go(func() { answers[i] = client.ask(t, server.Base("it"), question(false, "go")) })
	}
	asking.Wait()
	got := map[string]int{}
	for _, r := range answers {
		got[messageText(t, r)]++
	}
	want := map[string]int{}
	for i := range asks {
		want[strconv.Itoa(i)] = 1
	}
	compare(t, want, got)
}
