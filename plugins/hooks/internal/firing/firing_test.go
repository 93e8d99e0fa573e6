package firing

import (
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func TestPlainText(t *testing.T) {
	if got, want := PlainText([]byte(" \x1b[31mred\x1b[0m\r\n\xff\x07 ")), "red\n\uFFFD"; got != want {
		t.Errorf("plain text %q, want %q", got, want)
	}
}

func TestHeadBuffer(t *testing.T) {
	b := HeadBuffer{Max: 4}
	b.Add([]byte("abc"))
	if got := b.String(); got != "abc" {
		t.Errorf("below the limit: %q", got)
	}
	b.Add([]byte("def"))
	if got, want := b.String(), "abcd\n[2 more bytes were left out]"; got != want {
		t.Errorf("above the limit: %q, want %q", got, want)
	}
}

func TestTailBuffer(t *testing.T) {
	b := TailBuffer{Max: 8}
	for _, line := range []string{"one\n", "two\n", "three\n"} {
		b.Add([]byte(line))
	}
	if got := b.String(); got != "three" {
		t.Errorf("kept %q, want the last whole line", got)
	}
}

func TestAllowedAnswer(t *testing.T) {
	abort := sdk.HookAnswer{Action: sdk.ActionAbort}
	if got := AllowedAnswer(sdk.SessionEnd, abort); got.Action != sdk.ActionAbort {
		t.Errorf("abort at the end of a session: %+v", got)
	}
	if got := AllowedAnswer(sdk.SessionEnd, ContextAnswer("text")); got.Action != sdk.ActionContinue || got.Context != "" {
		t.Errorf("context at the end of a session: %+v", got)
	}
	if got := AllowedAnswer(sdk.StageEnd, ContextAnswer("text")); got.Action != sdk.ActionModifyContext || got.Context != "text" {
		t.Errorf("context at the end of a stage: %+v", got)
	}
}
