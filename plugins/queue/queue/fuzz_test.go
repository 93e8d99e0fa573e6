package queue

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FuzzConfig decodes any termination block. An accepted one has a program or no command, and a valid timeout.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"command":"bd ready","label":"x","timeout":1}`, `{"command":["bd","ready"]}`, `{"command":[]}`, `{"command":""}`, `{"timeout":1e-10}`,
		`{"timeout":0}`, `{"timeout":86400}`, `{"timeout":1e300}`, `{"command":[null]}`, "[]",
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
		if d := c.timeout(); d <= 0 || d > 24*time.Hour || c.Command != nil && (len(c.Command) == 0 || c.Command[0] == "") {
			t.Errorf("accepted: %+v, %s", c, d)
		}
	})
}
