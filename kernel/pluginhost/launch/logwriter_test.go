package launch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// logLines returns the log of the pieces that a plugin writes: level, message and fields, one line each.
func logLines(t *testing.T, level hclog.Level, pieces ...string) []string {
	t.Helper()
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Level: level, Output: &out, JSONFormat: true})
	w := launch.NewLogWriter(log, redact.New([]string{"A_TOKEN=xyzzy-plugh"}))
	for _, p := range pieces {
		if _, err := io.WriteString(w, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("%s: %s", m["@level"], m["@message"])
		for _, known := range []string{"@level", "@message", "@timestamp"} {
			delete(m, known)
		}
		if len(m) > 0 {
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			text += " " + string(b)
		}
		lines = append(lines, text)
	}
	return lines
}

// U229, U180: the log contains the lines of a plugin with level and fields, without secrets.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"hclog's JSON", []string{`{"@level":"warn","@message":"slow","@module":"x","@timestamp":"2026-01-02T03:04:05Z","n":12345678901234567890,"ok":true,"path":"/a","list":[1,2]}` + "\n"}, []string{`warn: slow {"list":"[1,2]","n":"12345678901234567890","ok":true,"path":"/a"}`}},
		{"other JSON", []string{"{\"level\":\"warn\"}\n"}, []string{`debug: {"level":"warn"}`}},
		{"broken JSON", []string{"{\"@level\":\n"}, []string{`debug: {"@level":`}},
		{"plain", []string{"hello\n\n  \nworld"}, []string{"debug: hello", "debug: world"}},
		{"pieces", []string{"hel", "lo\nwor", "ld\n"}, []string{"debug: hello", "debug: world"}},
		{"prefixes", []string{"[TRACE] a\n[DEBUG] b\n[INFO] c\n[WARN] d\n[ERROR] e\n[1, 2] f\n"}, []string{"trace: a", "debug: b", "info: c", "warn: d", "error: e", "debug: [1, 2] f"}},
		{"panic", []string{"before\npanic: oops\n\ngoroutine 1 [running]:\n{\"@level\":\"info\"}\n[INFO] x\n"}, []string{"debug: before", "error: panic: oops", "error: goroutine 1 [running]:", `error: {"@level":"info"}`, "error: [INFO] x"}},
		{"all goroutines of a panic", []string{"fatal error: out of memory\n\nruntime stack:\nx()\n\ngoroutine 7 [running]:\ny()\n\ngoroutine 1 [select]:\nz()\n"}, []string{"error: fatal error: out of memory", "error: runtime stack:", "error: x()", "error: goroutine 7 [running]:", "error: y()", "debug: goroutine 1 [select]:", "debug: z()"}},
		{"fatal", []string{"fatal error: all goroutines are asleep\n"}, []string{"error: fatal error: all goroutines are asleep"}},
		{"escape sequences", []string{"\x1b[31mred\x1b[0m \x1b]0;title\x07end\r\n"}, []string{"debug: red end"}},
		{"no UTF-8", []string{"a\xffb\n"}, []string{"debug: a\uFFFDb"}},
		{"secrets", []string{"login with xyz", "zy-plugh failed\n", `{"@level":"info","@message":"password: hunter2","api_key":"k","url":"/?token=abc"}` + "\n"}, []string{"debug: login with [REDACTED] failed", `info: password: [REDACTED] {"api_key":"[REDACTED]","url":"/?token=[REDACTED]"}`}},
		{"private key", []string{"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\nafter\n"}, []string{"debug: [REDACTED]", "debug: [REDACTED]", "debug: [REDACTED]", "debug: after"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, logLines(t, hclog.Trace, tt.pieces...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A long line is cut at the end of a character, with the number of missing bytes; no half of a secret remains.
func TestLongLines(t *testing.T) {
	got := logLines(t, hclog.Debug, strings.Repeat("ü", 3000), "\nnext\n")
	if want := []string{"debug: " + strings.Repeat("ü", 2048) + "… (1904 bytes more)", "debug: next"}; !cmp.Equal(want, got) {
		t.Errorf("got %q", got)
	}
	got = logLines(t, hclog.Debug, "short ", strings.Repeat("x", 1<<20), "\n")
	if want := []string{"debug: short … (1048576 bytes more)"}; !cmp.Equal(want, got) {
		t.Errorf("got %q", got)
	}
	got = logLines(t, hclog.Debug, `{"@level":"debug","@message":"m","f":"`+strings.Repeat("y", 5000)+"\"}\n")
	if len(got) != 1 || !strings.HasSuffix(got[0], `… (904 bytes more)"}`) {
		t.Errorf("got %q", got)
	}
}

// Lines below the level are not logged; a key that begins in such a line is still recognized.
func TestLevel(t *testing.T) {
	got := logLines(t, hclog.Warn, "one\n[WARN] two\n{\"@level\":\"info\",\"@message\":\"three\"}\n-----BEGIN PRIVATE KEY-----\n[WARN] MIIE\n")
	if diff := cmp.Diff([]string{"warn: two", "warn: [REDACTED]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A flood is dropped and counted; afterwards lines pass again.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		w := launch.NewLogWriter(hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: &out}), redact.New(nil))
		flood := strings.Repeat("a line\n", 100_000)
		if _, err := io.WriteString(w, flood); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != 500 {
			t.Errorf("%d lines of the flood were logged, want 500", n)
		}
		time.Sleep(10 * time.Second)
		out.Reset()
		if _, err := io.WriteString(w, "calm\n"); err != nil {
			t.Fatal(err)
		}
		if s := out.String(); !strings.Contains(s, "dropped lines") || !strings.Contains(s, "lines=99500") || !strings.Contains(s, "calm") {
			t.Errorf("after the flood: %s", s)
		}
	})
}

// The lines dropped last are reported at the end.
func TestFloodAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := logLines(t, hclog.Debug, strings.Repeat("x\n", 510))
		if len(got) != 501 || !strings.HasPrefix(got[500], "warn: dropped lines of the plugin's log") {
			t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
		}
	})
}

// FuzzWrite checks that no output of a plugin, in any pieces, causes a panic or logs a secret.
func FuzzWrite(f *testing.F) {
	f.Add("[WARN] a\n", "{\"@level\":\"info\",\"@message\":\"b\",\"c\":{}}\n", uint8(3))
	f.Add("panic: x\n-----BEGIN PRIVATE KEY-----\n", "{\"@level\":1}\r\n\x1b[", uint8(0))
	f.Fuzz(func(t *testing.T, a, b string, split uint8) {
		var out bytes.Buffer
		w := launch.NewLogWriter(hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &out}), redact.New([]string{"A_TOKEN=xyzzy-plugh"}))
		all := a + "\nxyzzy-plugh\n" + b
		at := int(split) % (len(all) + 1)
		for _, piece := range []string{all[:at], all[at:]} {
			if n, err := io.WriteString(w, piece); err != nil || n != len(piece) {
				t.Fatal(n, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "xyzzy-plugh") {
			t.Errorf("the secret is logged: %q", out.String())
		}
	})
}
