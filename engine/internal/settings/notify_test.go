package settings_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
)

// Keys that notify does not know are the action's; x- keys are ignored.
func TestParseNotify(t *testing.T) {
	s, found := settings.Parse("config.yaml", []byte("notify:\n  - action: webhook\n    on: [waiting, completed]\n    url: https://x\n    x-why: me\n"+
		"    repeat: 900\n    timeout: 2.5\n    headers: {A: b}\n  - {on: failed, action: bell}\n  - {action: bell, on: , repeat: 0, timeout: }\n"))
	if len(found) > 0 {
		t.Fatal(found)
	}
	want := []settings.Notification{
		{
			On: []sdk.HookPoint{sdk.SessionWaiting, sdk.SessionCompleted}, Action: "webhook", Repeat: 15 * time.Minute, Timeout: 2500 * time.Millisecond,
			Config: json.RawMessage(`{"headers":{"A":"b"},"url":"https://x"}`), At: at(2, 5),
			Keys: map[string]settings.Place{"action": at(2, 5), "on": at(3, 5), "config": at(4, 5), "repeat": at(6, 5), "timeout": at(7, 5)},
		},
		{On: []sdk.HookPoint{sdk.SessionFailed}, Action: "bell", At: at(9, 5), Keys: map[string]settings.Place{"on": at(9, 6), "action": at(9, 18)}},
		{
			Action: "bell", At: at(10, 5),
			Keys: map[string]settings.Place{"action": at(10, 6), "on": at(10, 20), "repeat": at(10, 26), "timeout": at(10, 37)},
		},
	}
	if diff := cmp.Diff(want, s.Notify); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, text := range []string{"notify:", "notify: []", "notify: ~"} {
		if s, found := settings.Parse("c.yaml", []byte(text)); len(found) > 0 || s.Notify != nil {
			t.Errorf("%s: %v, %v", text, s.Notify, found)
		}
	}
}

func TestParseNotifyFaults(t *testing.T) {
	const known = "there is waiting, paused, failed, aborted, completed"
	for _, tt := range []struct{ text, want string }{
		{"notify: {action: a}", "c.yaml:1:9: error[AP-YAML-101]: notify must be a list, not a map"},
		{"notify: [a]", "c.yaml:1:10: error[AP-YAML-101]: an entry of notify must be a map, not text"},
		{"notify: [{url: x}]", "c.yaml:1:10: error[AP-YAML-102]: an entry of notify has no action (add action:, such as webhook or script)"},
		{"notify: [{action: ' '}]", "c.yaml:1:10: error[AP-YAML-102]: an entry of notify has no action (add action:, such as webhook or script)"},
		{"notify: [{action: 3}]", `c.yaml:1:19: error[AP-YAML-101]: action must be text, not a number (put it in quotes: "3")`},
		{"notify: [{action: confirm}]", "c.yaml:1:19: error[AP-YAML-107]: confirm sends no notification (name a plugin's action, such as webhook or script)"},
		{"notify: [{action: a, on: wating}]", `c.yaml:1:26: error[AP-YAML-104]: on cannot be "wating" (did you mean "waiting"?)`},
		{"notify: [{action: a, on: [paused, always]}]", `c.yaml:1:35: error[AP-YAML-104]: on cannot be "always" (` + known + ")"},
		{"notify: [{action: a, on: []}]", "c.yaml:1:26: error[AP-YAML-102]: on names nothing (" + known + ")"},
		{"notify: [{action: a, on: true}]", "c.yaml:1:26: error[AP-YAML-101]: on must be a word or a list of words, not a boolean"},
		{"notify: [{action: a, on: [[]]}]", "c.yaml:1:27: error[AP-YAML-101]: a word of on must be text, not a list"},
		{"notify: [{action: a, repeat: soon}]", "c.yaml:1:30: error[AP-YAML-101]: repeat must be a number of seconds, not text"},
		{"notify: [{action: a, repeat: -1}]", "c.yaml:1:30: error[AP-YAML-103]: repeat must be from 1 to 86400 seconds, not -1 (0 sends no reminders)"},
		{"notify: [{action: a, timeout: 0}]", "c.yaml:1:31: error[AP-YAML-103]: timeout must be from 1 to 86400 seconds, not 0"},
		{"notify: [{action: a, timeout: 1e300}]", "c.yaml:1:31: error[AP-YAML-103]: timeout must be from 1 to 86400 seconds, not 1e300"},
		{
			"notify: [{action: a, on: failed, repeat: 9}]",
			"c.yaml:1:34: error[AP-YAML-107]: reminders are only sent while a session waits (add waiting to on, or remove repeat)",
		},
		{
			"notify:\n  - {on: x, repeat: -1}\n  - action: pause",
			`c.yaml:2:5: error[AP-YAML-102]: an entry of notify has no action (add action:, such as webhook or script)
c.yaml:2:10: error[AP-YAML-104]: on cannot be "x" (` + known + `)
c.yaml:2:21: error[AP-YAML-103]: repeat must be from 1 to 86400 seconds, not -1 (0 sends no reminders)
c.yaml:3:13: error[AP-YAML-107]: pause sends no notification (name a plugin's action, such as webhook or script)`,
		},
	} {
		t.Run(tt.text, func(t *testing.T) {
			_, found := settings.Parse("c.yaml", []byte(tt.text))
			if diff := cmp.Diff(tt.want, found.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// actionNames are names of hook actions.
type actionNames []string

func (a actionNames) HookAction(name string) (string, bool) {
	for _, n := range a {
		if n == name {
			return n, true
		}
	}
	return "", false
}
func (a actionNames) HookActions() []string { return a }

// The entries of both files count, and each has to name an action that exists.
func TestNotifyLayers(t *testing.T) {
	project, found := settings.Parse("p.yaml", []byte("notify: [{action: webhok}]"))
	user, more := settings.Parse("u.yaml", []byte("notify: [{action: script}, {action: zzz}]"))
	if len(found)+len(more) > 0 {
		t.Fatal(found, more)
	}
	l := settings.Layers{project, user}
	want := `p.yaml:1:11: error[AP-YAML-208]: there is no hook action "webhok" (did you mean "webhook"?)
u.yaml:1:29: error[AP-YAML-208]: there is no hook action "zzz" (there is script, webhook)`
	if got := l.CheckNotify(actionNames{"script", "webhook"}).Error(); got != want {
		t.Errorf("got\n%s", got)
	}
	var all []string
	for _, n := range l.Notify() {
		all = append(all, n.Action+" "+n.At.String())
	}
	if diff := cmp.Diff([]string{"webhok p.yaml:1:10", "script u.yaml:1:10", "zzz u.yaml:1:28"}, all); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
