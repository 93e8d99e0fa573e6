package verify

import (
	"context"
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// check is one row of the table.
type check struct {
	id    string
	title string
	// kinds selects the components by kind; the row is tried on each of them. An empty list means the
	// plugin as a whole.
	kinds []sdk.Kind
	// needs are the rows that must pass before this one.
	needs []string
	// long rows mostly wait, and run concurrently with the others.
	long bool
	// program rows observe a process; a plugin in this process has none.
	program bool
	// author is the author's case without which the row is not applicable; "" if the row needs no case.
	author  string
	session session
	run     func(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding
}

// session is the process that a row gets, with its components initialized.
type session int

const (
	sharedSession session = iota // shared with other rows
	ownSession
	noSession
)

// components returns the components on which the row is tried. A component without a name
// represents the plugin.
func (c check) components(all []sdk.Component) []sdk.Component {
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

// table returns the list of all requirements.
func table() []check {
	every := []sdk.Kind{sdk.KindProvider, sdk.KindTermination, sdk.KindHookAction}
	provider, strategy, action := every[:1], every[1:2], every[2:]
	described := []string{"describe"}
	ready := []string{"describe", "handshake", "socket", "health"}
	working := slices.Concat(ready, []string{"init"})
	after := func(row string) []string { return slices.Concat(working, []string{row}) }
	return []check{
		{id: "by-hand", title: "started by hand, it prints help and exits", program: true, session: noSession, run: checkByHand},
		{id: "describe", title: "the argument describe prints a valid description", program: true, session: noSession, run: checkDescribe},
		{id: "name", title: "its name matches the name of its file", needs: described, program: true, session: noSession, run: checkName},
		{id: "versions", title: "its version is semantic, its protocols are known", needs: described, program: true, session: noSession, run: checkVersion},
		{id: "schema", title: "config_schema is a JSON Schema of an object", kinds: every, needs: described, session: noSession, run: checkSchema},
		{id: "stdout", title: "nothing is printed before the handshake", program: true, session: noSession, run: checkStdout},
		{id: "handshake", title: "the handshake line is valid and in time", needs: []string{"stdout"}, program: true, session: noSession, run: checkHandshake},
		{id: "socket", title: "it listens in the requested directory", needs: []string{"handshake"}, program: true, session: noSession, run: checkSocket},
		{id: "health", title: "it answers Health", needs: []string{"socket"}, program: true, session: noSession, run: checkHealth},
		{id: "go-plugin", title: "go-plugin connects, by mutual TLS if declared", needs: []string{"describe", "health"}, program: true, session: noSession, run: checkGoPlugin},
		{id: "same-description", title: "Describe returns the printed description", needs: ready, run: checkSameDescription},
		{id: "init", title: "Init initializes the component", kinds: every, needs: ready, run: checkInit},
		{id: "heartbeat", title: "a silent attempt sends a heartbeat every 5 seconds", kinds: provider, needs: working, long: true, program: true, author: "slow", session: ownSession, run: checkHeartbeat},
		{id: "unknown-component", title: "an unknown component is a clear failure", needs: ready, run: checkUnknownComponent},
		{id: "config", title: "Validate refuses bad settings as config_invalid", kinds: every, needs: working, run: checkConfig},
		{id: "models", title: "it accepts listed models, and others as declared", kinds: provider, needs: working, run: checkModels},
		{id: "success", title: "a successful attempt reports success and output", kinds: provider, needs: working, author: "normal", run: checkSuccess},
		{id: "honest", title: "an idle agent does not succeed", kinds: provider, needs: working, author: "idle", run: checkHonest},
		{id: "usage", title: "unknown usage is absent, not zero; known is present", kinds: provider, needs: after("success"), author: "normal", run: checkUsage},
		{id: "traits", title: "its traits match its behaviour", kinds: provider, needs: after("success"), author: "full", run: checkTraits},
		{id: "denied", title: "a denied tool call is reported as denied", kinds: provider, needs: after("success"), run: checkDenied},
		{id: "resume", title: "it resumes from a checkpoint, in the same session", kinds: provider, needs: after("success"), run: checkResume},
		{id: "cancel", title: "a cancelled attempt ends in its grace with all it started", kinds: provider, needs: working, author: "slow", run: checkCancel},
		{id: "timeout", title: "work ends at its time limit", kinds: []sdk.Kind{sdk.KindProvider, sdk.KindHookAction}, needs: working, author: "slow", run: endsInTime},
		{id: "decides", title: "its decisions are valid and as expected", kinds: strategy, needs: working, author: "decisions", run: checkDecisions},
		{id: "repeats", title: "the same request gets the same decision and state", kinds: strategy, needs: after("decides"), author: "decisions", run: checkRepeats},
		{id: "release", title: "releasing an unknown session does no harm", kinds: strategy, needs: working, author: "decisions", run: checkRelease},
		{id: "answers", title: "its answers are valid and as expected", kinds: action, needs: working, author: "firings", run: checkAnswers},
		{id: "same-key", title: "a second call with the same key does no harm", kinds: action, needs: after("answers"), author: "firings", run: checkSameKey},
		{id: "concurrent", title: "100 concurrent calls all succeed", kinds: every, needs: working, run: checkConcurrent},
		{id: "large", title: "a message of 16 MB arrives", kinds: every, needs: working, run: checkLarge},
		{id: "large-output", title: "an output of more than 4 MiB comes back", kinds: provider, needs: working, author: "large", run: checkLargeOutput},
		{id: "garbage", title: "random bytes and unknown fields do not end it", needs: ready, run: checkGarbage},
		{id: "noise", title: "output on stdout after the handshake does no harm", needs: ready, program: true, run: checkNoise},
		{id: "leak", title: "1000 calls leave no files, threads or memory behind", needs: ready, program: true, session: ownSession, run: checkLeak},
		{id: "environment", title: "its children inherit no variable of the handshake", needs: ready, program: true, session: noSession, run: checkEnvironment},
		{id: "shutdown", title: "after Shutdown it ends within its grace", needs: ready, program: true, session: ownSession, run: checkShutdown},
		{id: "sigterm", title: "SIGTERM ends it with all that it started", needs: ready, program: true, session: noSession, run: checkSigterm},
		{id: "stdin-eof", title: "the end of stdin ends it with all that it started", needs: ready, program: true, session: noSession, run: checkStdinEOF},
		{id: "parent-death", title: "its host's death ends it with all that it started", needs: ready, program: true, session: noSession, run: checkParentDeath},
	}
}

// selectRows returns the rows with the IDs and the rows that they need, in the order of the table.
// Without IDs it returns all.
func selectRows(ids []string) []check {
	all := table()
	if len(ids) == 0 {
		return all
	}
	needed := map[string]bool{}
	for _, id := range ids {
		needed[id] = true
	}
	if len(ids) > 0 {
		needed["describe"] = true // it lists the components
	}
	for i := len(all) - 1; i >= 0; i-- { // needed rows precede the rows that need them
		if needed[all[i].id] {
			for _, id := range all[i].needs {
				needed[id] = true
			}
		}
	}
	return slices.DeleteFunc(all, func(c check) bool { return !needed[c.id] })
}

// endsInTime checks that work ends at its time limit.
func endsInTime(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	if c.Kind == sdk.KindHookAction {
		return checkHookTimeout(ctx, t, s, c)
	}
	return checkTimeout(ctx, t, s, c)
}
