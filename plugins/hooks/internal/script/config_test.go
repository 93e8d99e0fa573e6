package script

import (
	"reflect"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firingtest"
)

// The error of an invalid key names it (REQUIREMENTS U243).
func TestValidate(t *testing.T) {
	action := New()
	firingtest.Validate(t, action, [][2]string{
		{`{"command": "make report"}`, ""},
		{`{"script": "tools/x.sh", "args": ["a"], "env": {"A": "b"}}`, ""},
		{`{}`, "command and script are missing"},
		{`{"run": "x"}`, `unknown key "run"`},
		{`{"comand": "x"}`, `did you mean "command"?`},
		{`{"command": "x", "script": "y"}`, "exclude each other"},
		{`{"command": "x", "args": ["y"]}`, "args belong to script"},
		{`{"command": "x\u0000"}`, "zero byte"},
		{`{"command": "x", "env": {"A=B": "c"}}`, "no environment variable"},
		{`{"command": "x", "env": {"AGENT_PIPELINES_STAGE": "c"}}`, "AGENT_PIPELINES_STAGE is reserved"},
		{`{"command": "x", "env": {"A": 3}}`, "want a string"},
	})
}

// The limit of a hook without a timeout (seed 004, Hook Timeouts).
func TestDefaultLimit(t *testing.T) {
	if defaultLimit != 30*time.Second {
		t.Errorf("default limit %s", defaultLimit)
	}
}

// The schema is written by hand, so it must declare the keys that the struct reads.
func TestSchemaNamesWhatIsRead(t *testing.T) {
	firingtest.Schema(t, schema, reflect.TypeFor[Config]())
}
