package hooks

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// What a hook's own keys may be, and what a person is told who mistyped one (REQUIREMENTS U243).
func TestValidate(t *testing.T) {
	webhook := &Webhook{lookup: func(name string) (string, bool) {
		values := map[string]string{"TOKEN": "t", "LINES": "a\nb", "EMPTY": ""}
		text, ok := values[name]
		return text, ok
	}}
	tests := []struct {
		action sdk.Validator
		config string
		says   string // "" for one that is accepted
	}{
		{webhook, `{"url": "https://x.example/a?b=c"}`, ""},
		{webhook, `{"url": "http://127.0.0.1:8080", "headers": {"Authorization": "Bearer ${TOKEN}", "User-Agent": "me", "X": "$5"}, "secret_env": "TOKEN", "retries": 0}`, ""},
		{webhook, `{}`, "url is missing"},
		{webhook, `{"ulr": "https://x"}`, `did you mean "url"?`},
		{webhook, `{"url": "x.example/a"}`, "no http or https URL"},
		{webhook, `{"url": "file:///etc/passwd"}`, "no http or https URL"},
		{webhook, `{"url": "https://x", "retries": -1}`, "retries is -1"},
		{webhook, `{"url": "https://x", "retries": 11}`, "retries is 11"},
		{webhook, `{"url": "https://x", "headers": {"a b": "c"}}`, `"a b" is no name`},
		{webhook, `{"url": "https://x", "headers": {"idempotency-key": "c"}}`, "set by the action itself"},
		{webhook, `{"url": "https://x", "headers": {"X": "${TOKEN"}}`, "names no variable"},
		{webhook, `{"url": "https://x", "headers": {"X": "${A-B}"}}`, "names no variable"},
		{webhook, `{"url": "https://x", "headers": {"X": "${GONE} ${GONE}", "Y": "${EMPTY}"}, "secret_env": "KEY"}`, "not set in the environment of the hook: GONE, EMPTY, KEY"},
		{webhook, `{"url": "https://x", "headers": {"X": "${LINES}"}}`, "more than one line"},

		{NewScript(), `{"command": "make report"}`, ""},
		{NewScript(), `{"script": "tools/x.sh", "args": ["a"], "env": {"A": "b"}}`, ""},
		{NewScript(), `{}`, "nothing to run"},
		{NewScript(), `{"run": "x"}`, `unknown key "run"`},
		{NewScript(), `{"comand": "x"}`, `did you mean "command"?`},
		{NewScript(), `{"command": "x", "script": "y"}`, "exclude each other"},
		{NewScript(), `{"command": "x", "args": ["y"]}`, "args belong to script"},
		{NewScript(), `{"command": "x\u0000"}`, "zero byte"},
		{NewScript(), `{"command": "x", "env": {"A=B": "c"}}`, "no environment variable"},
		{NewScript(), `{"command": "x", "env": {"AGENT_PIPELINES_STAGE": "c"}}`, "are taken"},
		{NewScript(), `{"command": "x", "env": {"A": 3}}`, "want a string"},

		{NewCheck(), `{"type": "file", "path": "reports/*.xml", "exists": false}`, ""},
		{NewCheck(), `{"type": "content", "path": "a", "matches": "(?m)^ok$"}`, ""},
		{NewCheck(), `{"type": "command", "command": "x", "expect": {"max_warnings": 0}}`, ""},
		{NewCheck(), `{"type": "tests", "command": "x", "expect": "none_pass", "format": "tap"}`, ""},
		{NewCheck(), `{}`, "type is missing"},
		{NewCheck(), `{"type": "test"}`, `did you mean "tests"?`},
		{NewCheck(), `{"type": "file"}`, "path is missing"},
		{NewCheck(), `{"type": "file", "path": ""}`, "path names nothing"},
		{NewCheck(), `{"type": "file", "path": "a", "command": "x"}`, "a check of type file has no command"},
		{NewCheck(), `{"type": "file", "path": "../a"}`, "leads out of the project"},
		{NewCheck(), `{"type": "file", "path": "/etc/passwd"}`, "leads out of the project"},
		{NewCheck(), `{"type": "file", "path": "a/**/b"}`, "** is not known"},
		{NewCheck(), `{"type": "file", "path": "a["}`, "syntax error in pattern"},
		{NewCheck(), `{"type": "content", "path": "a"}`, "either contains or matches"},
		{NewCheck(), `{"type": "content", "path": "a", "contains": "b", "matches": "c"}`, "either contains or matches"},
		{NewCheck(), `{"type": "content", "path": "a", "matches": "("}`, "missing closing )"},
		{NewCheck(), `{"type": "command", "command": ""}`, "no text for a shell"},
		{NewCheck(), `{"type": "command", "command": "x", "expect": "exit_zeor"}`, `did you mean "exit_zero"?`},
		{NewCheck(), `{"type": "command", "command": "x", "expect": "all_pass"}`, `expect "all_pass" is none`},
		{NewCheck(), `{"type": "command", "command": "x", "expect": {"max_warnigs": 1}}`, `did you mean "max_warnings"?`},
		{NewCheck(), `{"type": "command", "command": "x", "expect": {}}`, "at least 0"},
		{NewCheck(), `{"type": "tests", "command": "x", "expect": {"max_warnings": 1}}`, "for checks of type command"},
		{NewCheck(), `{"type": "tests", "command": "x", "format": "junti"}`, `did you mean "junit"?`},
		{NewCheck(), `{"type": "file_exists", "path": "a", "exists": true}`, ""},
		{NewCheck(), `{"type": "file_content", "path": "a", "contains": "b"}`, ""},
		{NewCheck(), `{"type": "file_content", "path": "a"}`, "either contains or matches"},
		{NewCheck(), `{"type": "file_exist", "path": "a"}`, `did you mean "file_exists"?`},
		{NewCheck(), `{"type": "command", "run": "x"}`, ""},
		{NewCheck(), `{"type": "command", "run": ""}`, "no text for a shell"},
		{NewCheck(), `{"type": "command", "run": "x", "command": "x"}`, "run and command are the same"},
		{NewCheck(), `{"type": "file", "path": "a", "run": "x"}`, "a check of type file has no run"},
		{NewCheck(), `{"type": "tests", "run": "x", "format": "cargo", "files": ["a", "b/c d.py::t"]}`, ""},
		{NewCheck(), `{"type": "command", "run": "x && y", "files": ["a"]}`, ""},
		{NewCheck(), `{"type": "command", "run": "(cd x; y $@) # z", "files": ["a"]}`, ""},
		{NewCheck(), `{"type": "tests", "run": "x", "files": []}`, "files names nothing"},
		{NewCheck(), `{"type": "tests", "run": "x", "files": ["a", ""]}`, "leads out of the project"},
		{NewCheck(), `{"type": "tests", "run": "x", "files": ["a/../../b"]}`, "leads out of the project"},
		{NewCheck(), `{"type": "tests", "run": "x", "files": ["/etc/passwd"]}`, "leads out of the project"},
		{NewCheck(), `{"type": "tests", "run": "x", "files": ["a\nb"]}`, "is no path"},
		{NewCheck(), `{"type": "tests", "run": "x", "files": ["a\u0000"]}`, "is no path"},
		{NewCheck(), `{"type": "tests", "run": "x", "files": "a"}`, "want an array"},
		{NewCheck(), `{"type": "tests", "run": "x;", "files": ["a"]}`, "nothing can be added"},
		{NewCheck(), `{"type": "tests", "run": "x & ", "files": ["a"]}`, "nothing can be added"},
		{NewCheck(), `{"type": "tests", "run": "(x)", "files": ["a"]}`, "nothing can be added"},
		{NewCheck(), `{"type": "tests", "run": "x # y", "files": ["a"]}`, "nothing can be added"},
		{NewCheck(), `{"type": "tests", "run": "x \\", "files": ["a"]}`, "nothing can be added"},
		{NewCheck(), `{"type": "tests", "run": "x\ny", "files": ["a"]}`, "nothing can be added"},
		{NewCheck(), `{"type": "tests", "run": "x\n", "files": ["a"]}`, ""},
		{NewCheck(), `{"type": "tests", "run": "x >", "files": ["a"]}`, "nothing can be added"},
		{NewCheck(), `{"type": "file", "path": "a", "files": ["a"]}`, "has no files"},
		{NewCheck(), `{"type": 7}`, "want a string"},
	}
	for _, tt := range tests {
		err := tt.action.Validate(t.Context(), sdk.ValidateRequest{Config: json.RawMessage(tt.config)})
		switch {
		case tt.says == "" && err != nil:
			t.Errorf("%s: refused: %v", tt.config, err)
		case tt.says != "" && failure.KindOf(err) != failure.ConfigInvalid:
			t.Errorf("%s: error %v of kind %q, want config_invalid", tt.config, err, failure.KindOf(err))
		case tt.says != "" && !strings.Contains(err.Error(), tt.says):
			t.Errorf("%s: %q does not say %q", tt.config, err, tt.says)
		}
	}
}
