package verify

import (
	"context"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// check is one row of the table.
type check struct {
	id    string
	title string
	// kinds are those of the components on each of which the row is tried; none: the plugin as a whole.
	kinds []sdk.Kind
	// needs are rows without which this one says nothing.
	needs []string
	// long rows wait rather than work, and are tried beside the others.
	long bool
	// work rows show whether the component does its work at all.
	work bool
	run  func(ctx context.Context, t *trial, c sdk.Component) finding
}

// of are the components that the row is tried on; one without a name stands for the plugin.
func (c check) of(all []sdk.Component) []sdk.Component {
	if len(c.kinds) == 0 {
		return []sdk.Component{{}}
	}
	var chosen []sdk.Component
	for _, component := range all {
		if slices.Contains(c.kinds, component.Kind) {
			chosen = append(chosen, component)
		}
	}
	return chosen
}

// RowInfo is a row of the table, before it is tried.
type RowInfo struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Rows are all rows in their order. Ids are stable: a later version may add some, and gives none away.
func Rows() []RowInfo {
	var rows []RowInfo
	for _, c := range table() {
		rows = append(rows, RowInfo{c.id, c.title})
	}
	return rows
}

// table is the one list of what is demanded.
func table() []check {
	every := []sdk.Kind{sdk.KindProvider, sdk.KindTermination, sdk.KindHookAction}
	provider, strategy, action := every[:1], every[1:2], every[2:]
	described := []string{"describe"}
	ready := []string{"describe", "handshake", "socket", "health"}
	working := slices.Concat(ready, []string{"init"})
	after := func(row string) []string { return slices.Concat(working, []string{row}) }
	return []check{
		{id: "by-hand", title: "started by hand it explains itself and ends", run: startedByHand},
		{id: "describe", title: "the argument describe prints a valid description", run: describes},
		{id: "name", title: "its name is that of its file", needs: described, run: named},
		{id: "versions", title: "its version is semantic, its protocols are known", needs: described, run: versioned},
		{id: "schema", title: "the settings have a JSON Schema of an object", kinds: every, needs: described, run: schemed},
		{id: "stdout", title: "nothing is printed before the handshake", run: quiet},
		{id: "handshake", title: "the handshake line is right and in time", needs: []string{"stdout"}, run: shakesHands},
		{id: "socket", title: "it listens in the directory that it was given", needs: []string{"handshake"}, run: listens},
		{id: "health", title: "it says that it is well", needs: []string{"socket"}, run: healthy},
		{id: "go-plugin", title: "go-plugin connects, by mutual TLS if it says so", needs: []string{"describe", "health"}, run: speaksGoPlugin},
		{id: "same-description", title: "it describes itself alike on the wire", needs: ready, run: describesAlike},
		{id: "init", title: "Init sets the component up", kinds: every, needs: ready, run: initializes},
		{id: "heartbeat", title: "a silent attempt gives a sign every 5 seconds", kinds: provider, needs: working, long: true, run: beats},
		{id: "unknown-component", title: "a component it does not have is a clear failure", needs: ready, run: refusesUnknown},
		{id: "config", title: "a bad configuration is refused as config_invalid", kinds: every, needs: working, run: refusesConfig},
		{id: "models", title: "it takes the models that it lists, others as it says", kinds: provider, needs: working, run: choosesModels},
		{id: "success", title: "an attempt that goes well says so, with output", kinds: provider, needs: working, work: true, run: succeeds},
		{id: "honest", title: "an agent that did nothing is no success", kinds: provider, needs: working, run: honest},
		{id: "usage", title: "unknown usage is absent, not zero; known is there", kinds: provider, needs: after("success"), run: reportsUsage},
		{id: "traits", title: "it does what its traits claim, and claims it", kinds: provider, needs: after("success"), run: keepsItsWord},
		{id: "denied", title: "a denied tool call is reported as denied", kinds: provider, needs: after("success"), run: takesDenial},
		{id: "resume", title: "it goes on from a checkpoint, in the same session", kinds: provider, needs: after("success"), run: resumes},
		{id: "cancel", title: "a cancelled attempt ends in its grace, with all it started", kinds: provider, needs: working, run: cancels},
		{id: "timeout", title: "work ends at the time limit that it was given", kinds: []sdk.Kind{sdk.KindProvider, sdk.KindHookAction}, needs: working, run: timesOut},
		{id: "decides", title: "its decisions are valid and as expected", kinds: strategy, needs: working, work: true, run: decides},
		{id: "repeats", title: "the same question has the same answer, state too", kinds: strategy, needs: after("decides"), run: repeats},
		{id: "release", title: "releasing an unknown session does no harm", kinds: strategy, needs: working, run: releases},
		{id: "answers", title: "its answers are valid and as expected", kinds: action, needs: working, work: true, run: answers},
		{id: "same-key", title: "a second call with the same key does no harm", kinds: action, needs: after("answers"), run: repeatsKey},
		{id: "concurrent", title: "of 100 calls at once none is lost", kinds: every, needs: working, run: overlaps},
		{id: "large", title: "a message of 16 MB arrives", kinds: every, needs: working, run: takesLarge},
		{id: "large-output", title: "an output of more than 4 MiB comes back", kinds: provider, needs: working, run: givesLarge},
		{id: "garbage", title: "random bytes and unknown fields do not end it", needs: ready, run: survivesGarbage},
		{id: "noise", title: "words on stdout after the handshake do no harm", needs: ready, run: drained},
		{id: "leak", title: "1000 calls leave no files, threads or memory behind", needs: ready, run: leaksNothing},
		{id: "environment", title: "its children see no variable of the handshake", needs: ready, run: hidesHandshake},
		{id: "shutdown", title: "after Shutdown it ends within its grace", needs: ready, run: shutsDown},
		{id: "sigterm", title: "SIGTERM ends it with all that it started", needs: ready, run: endsBySignal},
		{id: "stdin-eof", title: "the end of stdin ends it with all that it started", needs: ready, run: endsByStdin},
		{id: "parent-death", title: "its host's death ends it with all that it started", needs: ready, run: endsWithHost},
	}
}

// wanted are the rows with the ids and what they need, in the order of the table; no ids are all.
func wanted(ids []string) []check {
	all := table()
	if len(ids) == 0 {
		return all
	}
	needed := map[string]bool{}
	for _, id := range ids {
		needed[id] = true
	}
	if len(ids) > 0 {
		needed["describe"] = true // by it the components are known
	}
	for i := len(all) - 1; i >= 0; i-- { // what is needed stands before
		if needed[all[i].id] {
			for _, id := range all[i].needs {
				needed[id] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(c check) bool { return !needed[c.id] })
}
