package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest/clitest"
)

const minute = watchTestEvery * quietIntervals

const watchTestEvery = 15 * time.Second

// newTestWatchdog returns a watchdog over status.json and result.json in a new directory with files from before the
// attempt.
func newTestWatchdog(t *testing.T, before map[string]string) (*watchdog, func(name, content string)) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	for name, content := range before {
		write(name, content)
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	req := sdk.ExecuteRequest{Paths: sdk.Paths{Status: filepath.Join(dir, "status.json"), Result: filepath.Join(dir, "result.json")}}
	w := newWatchdog(req, watchTiming{every: watchTestEvery})
	w.busy = func() bool { return false }
	return w, write
}

func TestWatchdogAcceptsADecision(t *testing.T) {
	tests := []struct {
		name, status string
		want         bool
	}{
		{"continue", `{"decision": "continue", "reason": "more to do"}`, true},
		{"stop", "{\"decision\": \"stop\"}\n", true},
		{"error", `{"decision": "error"}`, false},
		{"none", `{"reason": "x"}`, false},
		{"another type", `{"decision": true}`, false},
		{"no object", `["continue"]`, false},
		{"written in part", `{"decision": "stop", "reas`, false},
		{"empty", ``, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, write := newTestWatchdog(t, nil)
			if w.isDone(0) {
				t.Error("done before there is a status")
			}
			write("status.json", tt.status)
			if got := w.isDone(0); got != tt.want {
				t.Errorf("done = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestWatchdogIgnoresEarlierFiles(t *testing.T) {
	const stop = `{"decision": "stop"}`
	w, write := newTestWatchdog(t, map[string]string{"status.json": stop, "result.json": `{"summary": "old"}`})
	for look := range 3 {
		if w.isDone(minute) {
			t.Errorf("look %d: a file from before counts", look)
		}
	}
	write("status.json", stop)
	if !w.isDone(0) {
		t.Error("the same decision, written again, does not count")
	}
}

func TestWatchdogAcceptsAQuietResult(t *testing.T) {
	w, write := newTestWatchdog(t, nil)
	working := false
	w.busy = func() bool { return working }
	steps := []struct {
		name    string
		result  string // written before the check; "" for none
		busy    bool
		silence time.Duration
		want    bool
	}{
		{"nothing there", "", false, minute, false},
		{"in part", `{"summary": "do`, false, minute, false},
		{"still in part", "", false, minute, false},
		{"new", `{"summary": "done"}`, false, minute, false},
		{"a tool is at work", "", true, minute, false},
		{"Codex has just spoken", "", false, minute - time.Second, false},
		{"changed", `{"summary": "done well"}`, false, minute, false},
		{"quiet", "", false, minute, true},
	}
	for _, step := range steps {
		if step.result != "" {
			write("result.json", step.result)
		}
		working = step.busy
		if got := w.isDone(step.silence); got != step.want {
			t.Errorf("%s: done = %t, want %t", step.name, got, step.want)
		}
	}
}

func TestWatchdogReadsRegularFilesOnly(t *testing.T) {
	w, write := newTestWatchdog(t, nil)
	if err := syscall.Mkfifo(w.status.path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.result.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if w.isDone(minute) {
		t.Error("a pipe and a directory count")
	}
	if err := os.Remove(w.status.path); err != nil {
		t.Fatal(err)
	}
	write("status.json", `{"decision": "stop", "reason": "`+string(make([]byte, watchedBytes))+`"}`)
	if w.isDone(0) {
		t.Error("a huge file counts")
	}
}

func TestNewWatchdog(t *testing.T) {
	tests := []struct {
		name string
		req  sdk.ExecuteRequest
		off  bool
		want string // the status file
		none bool
	}{
		{"paths", sdk.ExecuteRequest{Paths: sdk.Paths{Status: "/s", Result: "/r"}}, false, "/s", false},
		{"variable of the attempt", sdk.ExecuteRequest{Environment: map[string]string{"CODEX_STATUS_FILE": "/v"}}, false, "/v", false},
		{
			"path before variable",
			sdk.ExecuteRequest{Paths: sdk.Paths{Status: "/s"}, Environment: map[string]string{"CODEX_STATUS_FILE": "/v"}},
			false, "/s", false,
		},
		{"result alone", sdk.ExecuteRequest{Paths: sdk.Paths{Result: "/r"}}, false, "", false},
		{"a question", sdk.ExecuteRequest{Purpose: sdk.PurposeQuestion}, false, "", true},
		{"switched off", sdk.ExecuteRequest{Paths: sdk.Paths{Status: "/s"}}, true, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatchdog(tt.req, watchTiming{off: tt.off})
			switch {
			case tt.none:
				if w != nil || w.newSign(nil) != nil {
					t.Error("there is a watchdog")
				}
			case w == nil || w.status.path != tt.want:
				t.Errorf("watchdog %+v, want status %s", w, tt.want)
			}
		})
	}
}

func TestWatchdogVerdict(t *testing.T) {
	const (
		message   = `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"done"}}`
		completed = `{"type":"turn.completed","usage":{}}`
		failed    = `{"type":"turn.failed","error":{"message":"no"}}`
		trouble   = `{"type":"error","message":"unexpected status 503 Service Unavailable: down"}`
	)
	ended := cliagent.End{StopReason: cliagent.StopDone, ExitCode: -1, Signal: syscall.SIGTERM}
	tests := []struct {
		name    string
		events  []string
		decided bool
		end     cliagent.End
		want    sdk.Outcome
	}{
		{"ended by the watchdog", []string{message}, true, ended, sdk.OutcomeSucceeded},
		{"ended by the watchdog without a message", nil, true, ended, sdk.OutcomeSucceeded},
		{"ended by the watchdog while it tried to reconnect", []string{message, trouble}, true, ended, sdk.OutcomeSucceeded},
		{"ended by the watchdog after its turn failed", []string{message, failed}, true, ended, sdk.OutcomeFailed},
		{"exit code after a decision", []string{message}, true, cliagent.End{ExitCode: 3}, sdk.OutcomeSucceeded},
		{"exit code after a decision and a whole turn", []string{message, completed}, true, cliagent.End{Final: true, ExitCode: 3}, sdk.OutcomeSucceeded},
		{"exit code without a message, after a decision", nil, true, cliagent.End{ExitCode: 3}, sdk.OutcomeSucceeded},
		{"exit code without a decision", []string{message}, false, cliagent.End{ExitCode: 3}, sdk.OutcomeInfrastructure},
		{"exit code after a failed turn", []string{message, failed}, true, cliagent.End{Final: true, ExitCode: 1}, sdk.OutcomeFailed},
		{"exit code after an error", []string{message, trouble}, true, cliagent.End{ExitCode: 1}, sdk.OutcomeInfrastructure},
		{"foreign signal", []string{message}, true, cliagent.End{ExitCode: -1, Signal: syscall.SIGKILL}, sdk.OutcomeInfrastructure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, write := newTestWatchdog(t, nil)
			if tt.decided {
				write("status.json", `{"decision": "continue"}`)
			}
			s := newStream(&plugintest.Exchange{})
			for _, event := range tt.events {
				s.events.Line([]byte(event))
			}
			got, f := w.verdict(s, tt.end)
			if got != tt.want || (f == nil) != (got == sdk.OutcomeSucceeded) {
				t.Errorf("outcome = %q, %v; want %q", got, f, tt.want)
			}
		})
	}
	var none *watchdog
	if got, _ := none.verdict(newStream(&plugintest.Exchange{}), cliagent.End{ExitCode: 3}); got != sdk.OutcomeInfrastructure {
		t.Errorf("without a watchdog: outcome = %q", got)
	}
}

// TestBusy: a tool is running between the start and the end of its item, despite repeated events.
func TestBusy(t *testing.T) {
	s := newStream(&plugintest.Exchange{})
	steps := []struct {
		event string
		busy  bool
	}{
		{`{"type":"item.started","item":{"id":"1","type":"command_execution","command":"make"}}`, true},
		{`{"type":"item.updated","item":{"id":"1","type":"command_execution","command":"make"}}`, true},
		{`{"type":"item.completed","item":{"id":"2","type":"file_change","status":"completed"}}`, true},
		{`{"type":"item.completed","item":{"id":"1","type":"command_execution","status":"completed"}}`, false},
		{`{"type":"item.completed","item":{"id":"1","type":"command_execution","status":"completed"}}`, false},
	}
	for _, step := range steps {
		s.events.Line([]byte(step.event))
		if s.busy() != step.busy {
			t.Errorf("after %s: busy = %t", step.event, s.busy())
		}
	}
}

func TestWatchdogEndsALingeringCodex(t *testing.T) {
	req := clitest.Request(t, map[string]string{"FAKE_STDOUT": "all done\n", "FAKE_HANG": "1", "CODEX_POLL_INTERVAL": "0.01", "CODEX_GRACE_PERIOD": "0"})
	req.Paths.Status = filepath.Join(t.TempDir(), "status.json")
	x := &plugintest.Exchange{OnOutput: func(sdk.OutputChunk) {
		if err := os.WriteFile(req.Paths.Status, []byte(`{"decision":"stop"}`), 0o600); err != nil {
			t.Error(err)
		}
	}}
	result, err := fake(t).Execute(t.Context(), req, x)
	if err != nil || result.Outcome != sdk.OutcomeSucceeded || result.Error != nil || result.Output != "all done\n" {
		t.Errorf("result %+v, error %v", result, err)
	}
	reported := false
	for _, p := range x.Record().Progress {
		reported = reported || p.Message == "the work is done; Codex stayed and was ended"
	}
	if !reported {
		t.Errorf("no progress about it: %+v", x.Record().Progress)
	}
}

// FuzzWatchedFiles: a decision is a complete JSON object; a truncated object is not accepted.
func FuzzWatchedFiles(f *testing.F) {
	for _, text := range []string{`{"decision":"stop"}`, `{"decision":"continue","reason":"é"}`, `{"decision":1}`, `[]`, ``, "null", `{"a":1} {"b":2}`} {
		f.Add([]byte(text), 3)
	}
	f.Fuzz(func(t *testing.T, content []byte, cut int) {
		if isDecision(content) && !isObject(content) {
			t.Errorf("%q is a decision but no object", content)
		}
		if isObject(content) && !json.Valid(content) {
			t.Errorf("%q is an object but no JSON", content)
		}
		if whole := content; isObject(whole) && cut > 0 {
			end := len(whole) - 1
			for end > 0 && whole[end] != '}' {
				end--
			}
			if part := whole[:max(0, end-cut%(end+1))]; isObject(part) || isDecision(part) {
				t.Errorf("%q, part of %q, is accepted as complete", part, whole)
			}
		}
	})
}
