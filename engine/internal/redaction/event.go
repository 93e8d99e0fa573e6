package redaction

import (
	"slices"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// fixed are the members of events and states whose values are not texts: keywords, ids, paths, keys and digests. Later
// decisions and file names depend on them. All other members are redacted, including those of future events.
var fixed = map[string]bool{
	// References and identities.
	"path": true, "sha256": true, "plan_sha256": true, "digest": true, "print": true, "result_file": true, "pipeline_file": true, "key": true,
	"id": true, "call_id": true, "run_id": true, "session": true, "question": true, "control": true, "handled": true,
	// Names and ids that a pipeline defines.
	"name": true, "stage": true, "stage_name": true, "stages": true, "node": true, "step": true, "provider": true, "providers": true,
	"model": true, "edge": true, "from": true, "to": true, "from_stage": true, "to_stage": true, "scope": true, "skip": true, "depends_on": true,
	"failed_steps": true, "next_failed_steps": true, "order": true, "approved_stages": true, "pipeline": true, "ref": true, "options": true, "strategy": true,
	"tool": true, "rule": true, "start": true, "exit_after": true, "iterate": true, "exited_after": true, "next_from": true,
	// Values that the engine defines.
	"type": true, "kind": true, "mode": true, "status": true, "outcome": true, "answer": true, "action": true, "decision": true, "ask": true, "verdict": true,
	"rung": true, "purpose": true, "code": true, "error_type": true, "effect": true, "category": true, "point": true, "phase": true, "at": true,
	"what": true, "given_up": true, "tools": true, "pause_kind": true, "pause_code": true, "callbacks": true, "version": true, "start_time": true, "resume_command": true, "environment": true,
	// Processes and their permissions.
	"plugin": true, "read": true, "write": true, "network": true, "asked": true, "asked_network": true, "tools_network": true, "entry": true, "due": true,
}

// agentMembers are the members to redact as texts for an agent, see [redact.Redactor.ForAgent]: messages of users to
// agents, and states, which their writers read again.
var agentMembers = map[event.Type]string{
	event.Decision: "state", event.SessionImported: "state",
	event.SessionResumed: "context", event.Control: "text", event.QuestionAnswered: "text",
}

// withFiles are the events that name a file as their result or facts.
var withFiles = []event.Type{event.IterationComplete, event.AttemptComplete, event.WorkerComplete, event.CheckResult}

// raw are members with foreign data, which holds no keywords of the engine.
var raw = []string{"args", "facts", "result"}

// Event returns the event as it may be journaled. Its data stays the same byte for byte, except for texts with
// secrets.
func Event(r *redact.Redactor, e event.Event) event.Event {
	if len(e.Data) == 0 {
		return e
	}
	member := agentMembers[e.Type]
	e.Data = r.JSONFunc(e.Data, func(names []string) redact.Treatment {
		if member != "" && len(names) > 0 && names[0] == member {
			return redact.Keep
		}
		return treatment(e.Type, names)
	})
	if member == "" {
		return e
	}
	e.Data = r.ForAgent().JSONFunc(e.Data, func(names []string) redact.Treatment {
		switch {
		case len(names) == 0:
			return redact.RedactValues
		case names[0] != member, e.Type == event.SessionImported && fixed[names[len(names)-1]]:
			return redact.Keep
		}
		return redact.RedactValues
	})
	return e
}

func treatment(t event.Type, names []string) redact.Treatment {
	switch {
	case len(names) == 0:
		return redact.RedactValues
	case !slices.Contains(withFiles, t) && slices.ContainsFunc(names, func(name string) bool { return slices.Contains(raw, name) }):
		return redact.RedactAll
	case fixed[names[len(names)-1]]:
		return redact.Keep
	}
	return redact.RedactValues
}
