package webhook

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

// The error of an invalid key names the key (REQUIREMENTS U243).
func TestValidate(t *testing.T) {
	action := &Action{lookupEnv: func(name string) (string, bool) {
		values := map[string]string{"TOKEN": "t", "LINES": "a\nb", "EMPTY": ""}
		text, ok := values[name]
		return text, ok
	}}
	firingtest.Validate(t, action, [][2]string{
		{`{"url": "https://x.example/a?b=c"}`, ""},
		{`{"url": "http://127.0.0.1:8080", "headers": {"Authorization": "Bearer ${TOKEN}", "User-Agent": "me", "X": "$5"}, "secret_env": "TOKEN", "retries": 0}`, ""},
		{`{}`, "url is missing"},
		{`{"ulr": "https://x"}`, `did you mean "url"?`},
		{`{"url": "x.example/a"}`, "not an http or https URL"},
		{`{"url": "file:///etc/passwd"}`, "not an http or https URL"},
		{`{"url": "https://x", "retries": -1}`, "retries is -1"},
		{`{"url": "https://x", "retries": 11}`, "retries is 11"},
		{`{"url": "https://x", "headers": {"a b": "c"}}`, `"a b" is not the name`},
		{`{"url": "https://x", "headers": {"idempotency-key": "c"}}`, "set by the action itself"},
		{`{"url": "https://x", "headers": {"X": "${TOKEN"}}`, "names no variable"},
		{`{"url": "https://x", "headers": {"X": "${A-B}"}}`, "names no variable"},
		{`{"url": "https://x", "headers": {"X": "${GONE} ${GONE}", "Y": "${EMPTY}"}, "secret_env": "KEY"}`, "not set in the environment of the hook: GONE, EMPTY, KEY"},
		{`{"url": "https://x", "headers": {"X": "${LINES}"}}`, "more than one line"},
	})
}

// The schema is written by hand, so it must declare the keys that the struct reads.
func TestSchemaDeclaresAllKeys(t *testing.T) {
	plugintest.SchemaKeys(t, schema, Config{})
}

// FuzzConfig decodes any configuration and resolves it in an environment with every variable. net/http can send an
// accepted configuration.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		`{"url":"https://ci.example.com/x","headers":{"Authorization":"Bearer ${TOKEN}","X-A":"b"},"secret_env":"S","retries":2}`, `{"url":"http://[::1]:80/"}`, `{"url":"ftp://x"}`, `{"url":"https://"}`,
		`{"url":"https://x","headers":{"A B":"c"}}`, `{"url":"https://x","headers":{"A":"${B"}}`, `{"url":"https://x/%zz"}`, `{"url":"https://x","headers":{"A":"\n"}}`, `{"url":"https://x","headers":{"host":"y"}}`, "null",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := readConfig(raw)
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		if _, _, err := c.resolve(func(string) (string, bool) { return "", false }); err == nil && strings.Contains(string(raw), "${") && len(c.Headers) > 0 && variable.MatchString(c.Headers[firstKey(c.Headers)]) {
			t.Error("a variable that is not set is taken")
		}
		header, _, err := c.resolve(func(string) (string, bool) { return "value", true })
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		if _, err := http.NewRequest(http.MethodPost, c.URL, nil); err != nil {
			t.Errorf("taken, and cannot be sent: %v", err)
		}
		for name, values := range header {
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
