package mock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The texts of the Bash engine's mock mode.
const (
	builtinText = "Mock response - no fixture found.\n\nCompleted mock iteration.\n\n" +
		"## Status\nWritten to result.json with plateau_suspected: false\n"
	builtinSummary = "Mock iteration %d completed"
	builtinNotes   = "Mock execution - more work simulated"
)

// resultFile is the content of result.json.
type resultFile struct {
	Summary   string    `json:"summary"`
	Work      work      `json:"work"`
	Artifacts artifacts `json:"artifacts"`
	Signals   signals   `json:"signals"`
}

type work struct {
	ItemsCompleted []string `json:"items_completed"`
	FilesTouched   []string `json:"files_touched"`
}

type artifacts struct {
	Outputs []string `json:"outputs"`
	Paths   []string `json:"paths"`
}

type signals struct {
	PlateauSuspected bool   `json:"plateau_suspected"`
	Risk             string `json:"risk"`
	Notes            string `json:"notes"`
}

// statusFile is the part of status.json that the mock reads.
type statusFile struct {
	Decision string   `json:"decision"`
	Reason   string   `json:"reason"`
	Summary  string   `json:"summary"`
	Work     work     `json:"work"`
	Errors   []string `json:"errors"`
}

// builtinResult returns the result of an iteration without a configured result.
func builtinResult(iteration int) resultFile {
	r := emptyResult()
	r.Summary = fmt.Sprintf(builtinSummary, iteration)
	r.Signals.Notes = builtinNotes
	return r
}

// emptyResult returns a result with empty lists, because readers of result.json expect lists.
func emptyResult() resultFile {
	return resultFile{
		Work:      work{ItemsCompleted: []string{}, FilesTouched: []string{}},
		Artifacts: artifacts{Outputs: []string{}, Paths: []string{}},
		Signals:   signals{Risk: "low"},
	}
}

// fixtures is a directory of prepared replies; "" has none. The files have the same order as in the Bash engine.
type fixtures string

// readText returns iteration-N.txt, else default.txt, else the built-in text.
func (dir fixtures) readText(iteration int) (string, error) {
	_, text, err := dir.readFirst(fmt.Sprintf("iteration-%d.txt", iteration), "default.txt")
	if err != nil || text != nil {
		return string(text), err
	}
	return builtinText, nil
}

// readResult returns result-N.json, else result.json, status-N.json or status.json, and whether it is a status;
// nil if there is none.
func (dir fixtures) readResult(iteration int) (text []byte, isStatus bool, err error) {
	result, status := fmt.Sprintf("result-%d.json", iteration), fmt.Sprintf("status-%d.json", iteration)
	name, text, err := dir.readFirst(result, "result.json", status, "status.json")
	return text, name == status || name == "status.json", err
}

// readFirst returns the first of the named files that exists.
func (dir fixtures) readFirst(names ...string) (name string, text []byte, err error) {
	if dir == "" {
		return "", nil, nil
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(string(dir), name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, failure.New(failure.ConfigInvalid, "read fixture: %w", err)
		}
		return name, text, nil
	}
	return "", nil, nil
}

// check returns an error for a configured directory that does not exist.
func (dir fixtures) check() error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(string(dir))
	if err != nil {
		return failure.New(failure.ConfigInvalid, "fixtures: %w", err).WithHint("set MOCK_FIXTURES_DIR to an existing directory")
	}
	if !info.IsDir() {
		return failure.New(failure.ConfigInvalid, "fixtures: %s is not a directory", dir)
	}
	return nil
}

// convertStatus turns a status into a result by the rules of the Bash engine, for requests with only a result
// path.
func convertStatus(status []byte) ([]byte, error) {
	var s statusFile
	if err := json.Unmarshal(status, &s); err != nil {
		return nil, failure.New(failure.ConfigInvalid, "read the configured status: %w", err)
	}
	r := emptyResult()
	r.Summary = s.Summary
	r.Work.ItemsCompleted = append(r.Work.ItemsCompleted, s.Work.ItemsCompleted...)
	r.Work.FilesTouched = append(r.Work.FilesTouched, s.Work.FilesTouched...)
	r.Signals.PlateauSuspected = s.Decision == "stop"
	r.Signals.Notes = s.Reason
	if s.Decision == "error" || len(s.Errors) > 0 {
		r.Signals.Risk = "high"
	}
	if s.Reason == "" && len(s.Errors) > 0 {
		r.Signals.Notes = s.Errors[0]
	}
	return json.Marshal(r)
}
