package stubmodel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnthropicRead(t *testing.T) {
	body := `{"model":"m","stream":true,"system":[{"type":"text","text":"one"},{"type":"text","text":"two"}],
		"tools":[{"name":"Write"}],"messages":[
		{"role":"user","content":"first"},
		{"role":"assistant","content":[{"type":"text","text":"not the user"}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"a","content":"plain"},
			{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"block"}]},
			{"type":"text","text":"second"}]}]}`
	got, err := anthropic{}.read([]byte(body))
	check(t, err)
	failed := true
	want := inbound{
		body: []byte(body), model: "m", system: "one\ntwo", prompt: "first\nsecond",
		toolResult: "plain\nblock", toolError: &failed, offersTools: true, stream: true,
	}
	compare(t, want, got, cmp.AllowUnexported(inbound{}))
}

func TestAnthropicReadDropsOlderToolResults(t *testing.T) {
	body := `{"messages":[{"role":"user","content":[{"type":"tool_result","content":"old","is_error":true}]},
		{"role":"user","content":"next question"}]}`
	got, err := anthropic{}.read([]byte(body))
	check(t, err)
	if got.toolResult != "" || *got.toolError {
		t.Errorf("got tool result %q, error %t of an older message", got.toolResult, *got.toolError)
	}
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
