package queue

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newTestStrategy returns a strategy whose PATH begins with a fake bd, and the file to which that bd writes its
// calls.
func newTestStrategy(t testing.TB, env ...string) (*Strategy, string) {
	t.Helper()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "bd.log")
	env = append([]string{"PATH=" + bin + ":/usr/bin:/bin", "BD_LOG=" + log}, env...)
	return &Strategy{environ: func() []string { return env }}, log
}

func readFile(t testing.TB, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestConforms(t *testing.T) {
	plugintest.Termination(t, plugintest.TerminationConfig{
		New: func(t testing.TB) sdk.Termination {
			s, _ := newTestStrategy(t, "BD_READY=a\n")
			return s
		},
		Config: json.RawMessage(`{"type": "queue", "max": 25}`),
		Cases: []plugintest.DecideCase{
			{Name: "beads are left", Request: sdk.DecideRequest{Iteration: 1}, Want: sdk.DecisionContinue},
			{Name: "an agent's error", Request: sdk.DecideRequest{Iteration: 1, Hint: "error"}, Want: sdk.DecisionError},
		},
		Refused: []json.RawMessage{json.RawMessage(`{"command": []}`), json.RawMessage(`{"command": ["nosuchprogram"]}`), json.RawMessage(`{"timeout": -1}`)},
	})
}

// The schema is written by hand, so it must declare the keys that the struct reads.
func TestSchemaDeclaresAllKeys(t *testing.T) {
	plugintest.SchemaKeys(t, schema, Config{}, "type")
}

// FuzzConfig decodes any termination block. An accepted block has a program or no command, and a valid timeout.
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
