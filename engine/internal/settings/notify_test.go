package settings_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Keys that notify does not know are the action's; x- keys are ignored.
func TestParseNotify(t *testing.T) {
	s, found := settings.Parse("config.yaml", []byte("notify:\n  - action: webhook\n    on: [waiting, completed]\n    url: https://x\n    x-why: me\n"+
		"    timeout: 2.5\n    headers: {A: b}\n  - {on: failed, action: bell}\n  - {action: bell, on: , timeout: }\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := []settings.Notification{
		{
			On: []sdk.HookPoint{sdk.SessionWaiting, sdk.SessionCompleted}, Action: "webhook", Timeout: 2500 * time.Millisecond,
			Config: json.RawMessage(`{"headers":{"A":"b"},"url":"https://x"}`), At: at(2, 5), ConfigAt: at(4, 5),
		},
		{On: []sdk.HookPoint{sdk.SessionFailed}, Action: "bell", At: at(8, 5)},
		{Action: "bell", At: at(9, 5)},
	}
	testkit.Equal(t, want, s.Notify)
	for _, text := range []string{"notify:", "notify: []", "notify: ~"} {
		if s, found := settings.Parse("c.yaml", []byte(text)); len(found) > 0 || s.Notify != nil {
			t.Errorf("%s: %v, %v", text, s.Notify, found)
		}
	}
}

func TestParseNotifyFaults(t *testing.T) {
	const known = "available: aborted, completed, failed, paused, waiting"
	for _, tt := range []struct{ text, want string }{
		{"notify: {action: a}", "c.yaml:1:9: error[AP-YAML-101]: notify must be a list, not a map"},
		{"notify: [a]", "c.yaml:1:10: error[AP-YAML-101]: an entry of notify must be a map, not text"},
		{"notify: [{action: a, on: wating}]", `c.yaml:1:26: error[AP-YAML-104]: unknown status "wating" in key 'on' (did you mean "waiting"? available: aborted, completed, failed, paused, waiting)`},
		{"notify: [{action: a, on: [paused, always]}]", `c.yaml:1:35: error[AP-YAML-104]: unknown status "always" in key 'on' (` + known + ")"},
		{"notify: [{action: a, on: []}]", "c.yaml:1:26: error[AP-YAML-102]: key 'on' names no status (" + known + ")"},
		{"notify: [{action: a, on: true}]", `c.yaml:1:26: error[AP-YAML-104]: unknown status "true" in key 'on' (available: aborted, completed, failed, paused, waiting)`},
		{"notify: [{action: a, on: [[]]}]", `c.yaml:1:27: error[AP-YAML-104]: unknown status "" in key 'on' (available: aborted, completed, failed, paused, waiting)`},
		{"notify: [{action: a, timeout: soon}]", "c.yaml:1:31: error[AP-YAML-101]: timeout must be a number, not text"},
		{"notify: [{action: a, timeout: 1e300}]", "c.yaml:1:31: error[AP-YAML-103]: timeout must be at most 86400, not 1e300"},
		{
			"notify:\n  - {on: x, timeout: 0}",
			`c.yaml:2:5: error[AP-YAML-102]: an entry of notify has no action (add action:, such as webhook or script)
c.yaml:2:10: error[AP-YAML-104]: unknown status "x" in key 'on' (` + known + `)
c.yaml:2:22: error[AP-YAML-103]: timeout must be at least 1, not 0`,
		},
	} {
		t.Run(tt.text, func(t *testing.T) {
			_, found := settings.Parse("c.yaml", []byte(tt.text))
			testkit.Equal(t, tt.want, found.Error())
		})
	}
}

// The entries of both files count, and each has to name an action that exists.
func TestNotifyLayers(t *testing.T) {
	project, found := settings.Parse("p.yaml", []byte("notify: [{action: webhok}]"))
	user, more := settings.Parse("u.yaml", []byte("notify: [{action: script}, {action: pause}]"))
	if len(found)+len(more) > 0 {
		t.Fatal(found, more)
	}
	l := settings.Layers{project, user}
	want := `p.yaml:1:11: error[AP-YAML-208]: there is no hook action "webhok" (did you mean "webhook"? available: script, webhook)
u.yaml:1:29: error[AP-YAML-208]: there is no hook action "pause" (available: script, webhook)`
	testkit.Equal(t, want, l.CheckNotify(installed).Error())
}
