package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxFile bounds state.json, in bytes.
const maxFile = 256 << 20

// Read reads a session's state.json, ours or the Bash engine's. Members that are missing or of another
// type are left empty. The error wraps [io/fs.ErrNotExist] if there is none; a file that ends too
// early or is no JSON gives what could be read and an error of kind state_corrupt.
func Read(dir *store.Dir) (Document, error) {
	return readFrom(dir.Store, store.StateFile, "")
}

// readFrom reads a file up to the given member, or all of it.
func readFrom(s *store.Store, name, upTo string) (Document, error) {
	f, err := s.OpenRegular(name)
	if err != nil {
		return Document{}, err
	}
	defer f.Close()
	d, err := decode(io.LimitReader(f, maxFile), upTo)
	if err != nil {
		err = failure.New(failure.StateCorrupt, "read %s: %w", s.Abs(name), err).
			WithHint("it is derived from events.jsonl and rebuilt when the session is resumed")
	}
	return d, err
}

// decode reads the members of an object until the one named upTo, or its end.
func decode(r io.Reader, upTo string) (Document, error) {
	var d Document
	fields := d.fields()
	dec := json.NewDecoder(r)
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return d, errors.Join(errors.New("it is no JSON object"), err)
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return d, err
		}
		key, _ := token.(string)
		if key == upTo && upTo != "" {
			return d, nil
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return d, fmt.Errorf("member %q: %w", key, err)
		}
		if field, known := fields[key]; known {
			_ = json.Unmarshal(value, field) // values of another type stay empty
		}
		if key == "status" && d.Status == "complete" {
			d.Status = string(state.Completed)
		}
	}
	_, err := dec.Token()
	return d, err
}

// fields are the places of the members.
func (d *Document) fields() map[string]any {
	return map[string]any{
		"session": &d.Session, "type": &d.Type, "started_at": &d.StartedAt, "status": &d.Status,
		"current_stage": &d.CurrentStage, "iteration": &d.Iteration, "iteration_completed": &d.IterationCompleted,
		"iteration_started": &d.IterationStarted, "stages": &d.Stages, "run": &d.Run, "runs": &d.Runs, "waiting": &d.Waiting, "history": &d.History,
		"event_offset": &d.EventOffset, "completed_at": &d.CompletedAt, "completion_reason": &d.CompletionReason,
		"failed_at": &d.FailedAt, "error": &d.Error, "error_type": &d.ErrorType, "resume_from": &d.ResumeFrom,
		"resumed_at": &d.ResumedAt, "paused_at": &d.PausedAt, "pause_reason": &d.PauseReason, "pause_kind": &d.PauseKind,
		"pause_code": &d.PauseCode, "visits": &d.Visits, "steps": &d.Steps, "budget": &d.Budget,
		"run_id": &d.RunID, "pipeline": &d.Pipeline, "current_attempt": &d.CurrentAttempt,
		"iteration_count": &d.IterationCount, "completed_stages": &d.CompletedStages, "stage_artifacts": &d.StageArtifacts,
		"cycles": &d.Cycles, "retries": &d.Retries, "questions": &d.Questions, "total_tokens_used": &d.TokensUsed,
		"approved_stages": &d.ApprovedStages, "pending_approval": &d.Approval, "pending_artifact": &d.Artifact,
		"pending_feedback": &d.Feedback, "escalation_id": &d.Escalation,
		"total_cost_usd": &d.CostUSD, "event_seq": &d.EventSeq, "scheduler": &d.Scheduler,
	}
}
