package hooks

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FuzzCheckConfig reads any configuration of a check: what is taken has a type of ours and what that type needs; all
// else is a mistake in the configuration that says check.
func FuzzCheckConfig(f *testing.F) {
	for _, seed := range []string{
		`{"type":"tests","command":"go test ./...","expect":"all_pass","format":"go"}`, `{"type":"command","run":"make","expect":{"max_warnings":0}}`, `{"type":"file_exists","path":"a","exists":false}`,
		`{"type":"content","path":"a","matches":"x+"}`, `{"type":"content","path":"../a","contains":"x"}`, `{"type":"tests","command":"x","files":["a_test.go"]}`, `{"type":"test"}`, "null", "[]", `{"type":"command","run":"a","command":"b"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := readCheckConfig(raw)
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		keys, known := checkKeys[c.Type]
		if !known {
			t.Fatalf("type %q is taken", c.Type)
		}
		if slices.Contains(keys.needed, "command") && strings.TrimSpace(c.Command) == "" || slices.Contains(keys.needed, "path") && c.Path == "" {
			t.Errorf("%s lacks what it needs: %+v", c.Type, c)
		}
	})
}

// FuzzWebhookConfig reads any configuration of a webhook and fills it from an environment that has every variable: what
// is taken can be sent by net/http.
func FuzzWebhookConfig(f *testing.F) {
	for _, seed := range []string{
		`{"url":"https://ci.example.com/x","headers":{"Authorization":"Bearer ${TOKEN}","X-A":"b"},"secret_env":"S","retries":2}`, `{"url":"http://[::1]:80/"}`, `{"url":"ftp://x"}`, `{"url":"https://"}`,
		`{"url":"https://x","headers":{"A B":"c"}}`, `{"url":"https://x","headers":{"A":"${B"}}`, `{"url":"https://x/%zz"}`, `{"url":"https://x","headers":{"A":"\n"}}`, `{"url":"https://x","headers":{"host":"y"}}`, "null",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := readWebhookConfig(raw)
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		if _, err := c.resolve(func(string) (string, bool) { return "", false }); err == nil && strings.Contains(string(raw), "${") && len(c.Headers) > 0 && variable.MatchString(c.Headers[firstKey(c.Headers)]) {
			t.Error("a variable that is not set is taken")
		}
		to, err := c.resolve(func(string) (string, bool) { return "value", true })
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		if _, err := http.NewRequest(http.MethodPost, to.url, nil); err != nil {
			t.Errorf("taken, and cannot be sent: %v", err)
		}
		for name, values := range to.headers {
			if strings.ContainsAny(name+strings.Join(values, ""), "\r\n\x00") {
				t.Errorf("header %q: %q", name, values)
			}
		}
	})
}

func firstKey(m map[string]string) string {
	for key := range m {
		return key
	}
	return ""
}

// FuzzExpectation reads any expectation: it is a word or a limit, never both and never a limit below zero.
func FuzzExpectation(f *testing.F) {
	for _, seed := range []string{`"all_pass"`, `{"max_warnings":3}`, `{"max_warnings":-1}`, "null", "{}", `{"max_warnings":null}`, `{"other":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e Expectation
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		if e.MaxWarnings != nil && (*e.MaxWarnings < 0 || e.Word != "") {
			t.Errorf("%s is %+v", raw, e)
		}
	})
}
