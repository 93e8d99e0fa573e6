package settings

import (
	"slices"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Bounds of repeat and timeout.
const (
	shortest = time.Second
	longest  = 24 * time.Hour
)

// notify reads a list of entries.
func (r reader) notify(n *yamldoc.Node) []Notification {
	switch n.Kind {
	case yamldoc.Null:
		return nil
	case yamldoc.List:
	default:
		r.wrongType(n, "notify", "a list")
		return nil
	}
	var all []Notification
	for _, item := range n.Items {
		if item.Kind != yamldoc.Map {
			r.wrongType(item, "an entry of notify", "a map")
			continue
		}
		all = append(all, r.notification(item))
	}
	return all
}

// notification reads one entry. All other keys are the action's.
func (r reader) notification(n *yamldoc.Node) Notification {
	own := Notification{At: r.at(n.Pos), Keys: map[string]Place{}}
	var config []yamldoc.Entry
	for _, e := range n.Entries {
		if private(e.Key) {
			continue
		}
		key := e.Key
		switch key {
		case "on":
			own.On = r.points(e.Value)
		case "action":
			own.Action = r.text(e.Value, "action")
		case "repeat":
			own.Repeat = r.duration(e.Value, "repeat", "0 sends no reminders")
		case "timeout":
			own.Timeout = r.duration(e.Value, "timeout", "")
		default:
			config, key = append(config, e), "config"
		}
		if _, first := own.Keys[key]; !first {
			own.Keys[key] = r.at(e.KeyPos)
		}
	}
	if len(config) > 0 {
		own.Config = (&yamldoc.Node{Kind: yamldoc.Map, Entries: config}).JSON()
	}
	r.checkNotification(n, own)
	return own
}

// checkNotification finds missing and contradictory keys of an entry.
func (r reader) checkNotification(n *yamldoc.Node, own Notification) {
	action := n.Get("action")
	switch {
	case action == nil, action.Kind == yamldoc.Null, action.Kind == yamldoc.Text && own.Action == "":
		r.Errorf(n.Pos, yamldoc.CodeMissing, "add action:, such as webhook or script", "an entry of notify has no action")
	case own.Action == plan.ActionPause, own.Action == plan.ActionConfirm:
		r.Errorf(action.Pos, yamldoc.CodeConflict, "name a plugin's action, such as webhook or script", "%s sends no notification", own.Action)
	}
	if own.Repeat > 0 && own.On != nil && !slices.Contains(own.On, sdk.SessionWaiting) {
		own.Keys["repeat"].errorf(r.Diagnostics, yamldoc.CodeConflict, "add waiting to on, or remove repeat", "reminders are only sent while a session waits")
	}
}

// points reads one point or a list of them; nil if there is none.
func (r reader) points(n *yamldoc.Node) []sdk.HookPoint {
	var items []*yamldoc.Node
	switch n.Kind {
	case yamldoc.Null:
		return nil
	case yamldoc.Text:
		items = []*yamldoc.Node{n}
	case yamldoc.List:
		items = n.Items
	default:
		r.wrongType(n, "on", "a word or a list of words")
		return nil
	}
	points := NotifyTable.Choices("on")
	if len(items) == 0 {
		r.Errorf(n.Pos, yamldoc.CodeMissing, suggest("", points), "on names nothing")
	}
	var all []sdk.HookPoint
	for _, item := range items {
		if item.Kind != yamldoc.Text {
			r.wrongType(item, "a word of on", "text")
			continue
		}
		if !slices.Contains(points, item.Source) {
			r.Errorf(item.Pos, yamldoc.CodeChoice, suggest(item.Source, points), "on cannot be %q", item.Source)
		}
		all = append(all, sdk.HookPoint(item.Source))
	}
	return all
}

// duration reads seconds from [shortest] to [longest]; null is 0. 0 is allowed if zero describes its meaning.
func (r reader) duration(n *yamldoc.Node, label, zero string) time.Duration {
	seconds := r.number(n, label)
	switch {
	case seconds == nil, *seconds == 0 && zero != "":
		return 0
	case *seconds < shortest.Seconds() || *seconds > longest.Seconds():
		r.Errorf(n.Pos, yamldoc.CodeRange, zero, "%s must be from %v to %v seconds, not %s", label, shortest.Seconds(), longest.Seconds(), n.Source)
		return 0
	default:
		return plan.Seconds(*seconds)
	}
}
