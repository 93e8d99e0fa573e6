package result

import (
	"cmp"
	"encoding/json"
	"path"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Result is the normal form of result.json. The fields have the order of the keys in the file.
type Result struct {
	Summary   string    `json:"summary"`
	Work      Work      `json:"work"`
	Artifacts Artifacts `json:"artifacts"`
	Signals   Signals   `json:"signals"`
	Claims
}

// Work lists finished work. The lists are never nil in JSON.
type Work struct {
	ItemsCompleted []string `json:"items_completed"`
	FilesTouched   []string `json:"files_touched"`
}

// Artifacts lists the results as the agent wrote them.
type Artifacts struct {
	Outputs []json.RawMessage `json:"outputs"`
	Paths   []json.RawMessage `json:"paths"`
}

// Signals are the agent's hints; the risk is low unless the agent says otherwise.
type Signals = event.Signals

// Reading is a result and the agent's request to the run.
type Reading struct {
	Result Result
	// Ask is the agent's explicit request: continue, stop or error; "" for none. Only this request steers the run
	// (REQUIREMENTS K17).
	Ask string
	// Decision is the decision that history and events show, as the Bash engine derives it from the normal form
	// (BASH-BEHAVIOUR 4.7): error if the agent asked for it, stop for a suspected plateau or a status.json that asks
	// for it, else continue.
	Decision string
	// Reason is shown with Decision: the notes of the result's signals.
	Reason string
}

// Normalize returns the reading of an iteration, from resultJSON or, without it, from statusJSON. A nil slice is a file
// that does not exist. [Claims] are read only if the node has a contract; else they are ignored. The errors are
// result_missing and result_invalid failures.
func Normalize(resultJSON, statusJSON []byte, contract bool) (Reading, error) {
	switch {
	case resultJSON != nil:
		m, err := parse(resultJSON, "result.json")
		if err != nil {
			return Reading{}, err
		}
		r, err := fromResult(m, contract)
		if err == nil && contract {
			r.Result.Claims, err = claims(m)
		}
		return r, err
	case statusJSON != nil:
		m, err := parse(statusJSON, "status.json")
		if err != nil {
			return Reading{}, err
		}
		return fromStatus(m), nil
	default:
		return Reading{}, failure.New(failure.ResultMissing, "agent did not write result.json").
			WithHint("add to the prompt that the agent writes its result to ${RESULT}")
	}
}

// FilesTouched returns the files that a result or status file names, none if the file cannot be read.
func FilesTouched(data []byte) []string {
	m, err := parse(data, "result.json")
	if err != nil {
		return nil
	}
	return work(m).FilesTouched
}

// Unreadable returns the result_invalid failure of an existing file that cannot be read.
func Unreadable(name string, err error) error {
	return invalid("agent wrote %s, which cannot be read: %w", path.Base(name), err)
}

// fromResult reads the common members. Under a contract the message or outcome replaces a missing summary.
func fromResult(m object, contract bool) (Reading, error) {
	summary, isText := member[string](m, "summary")
	_, written := m["summary"]
	if contract && !written {
		summary = short(cmp.Or(text(m, "message"), text(m, "outcome")), maxText)
		written, isText = summary != "", true
	}
	switch {
	case !written:
		return Reading{}, invalid("agent wrote invalid result.json: it has no summary")
	case !isText:
		return Reading{}, invalid("agent wrote invalid result.json: summary is not a string")
	}
	artifacts, _ := member[object](m, "artifacts")
	signals, _ := member[object](m, "signals")
	plateau, _ := member[bool](signals, "plateau_suspected")
	risk, hasRisk := member[string](signals, "risk")
	if !hasRisk {
		risk = "low"
	}
	r := Result{
		Summary: summary, Work: work(m),
		Artifacts: Artifacts{Outputs: values(artifacts, "outputs"), Paths: values(artifacts, "paths")},
		Signals:   Signals{PlateauSuspected: plateau, Risk: risk, Notes: text(signals, "notes")},
	}
	return read(r, ask(m), plateau), nil
}

// fromStatus converts the older form: the decision becomes the agent's request, and the reason or the first error
// becomes the notes of the signals. The file itself stays unchanged.
func fromStatus(m object) Reading {
	errs := stringList(m, "errors")
	r := Result{
		Summary: text(m, "summary"), Work: work(m), Artifacts: Artifacts{Outputs: []json.RawMessage{}, Paths: []json.RawMessage{}},
		Signals: Signals{Risk: "low", Notes: text(m, "reason")},
	}
	if r.Signals.Notes == "" && len(errs) > 0 {
		r.Signals.Notes = errs[0]
	}
	if ask(m) == "error" || len(errs) > 0 {
		r.Signals.Risk = "high"
	}
	return read(r, ask(m), ask(m) == "stop")
}

func read(r Result, ask string, stop bool) Reading {
	decision := "continue"
	switch {
	case ask == "error":
		decision = ask
	case stop:
		decision = "stop"
	}
	return Reading{Result: r, Ask: ask, Decision: decision, Reason: r.Signals.Notes}
}

func ask(m object) string {
	switch d := text(m, "decision"); d {
	case "continue", "stop", "error":
		return d
	default:
		return ""
	}
}

func work(m object) Work {
	w, _ := member[object](m, "work")
	return Work{ItemsCompleted: stringList(w, "items_completed"), FilesTouched: stringList(w, "files_touched")}
}

// JSON returns the normal form as the content of a file: one compact line.
func (r Result) JSON() []byte {
	return append(rendered(r), '\n')
}
