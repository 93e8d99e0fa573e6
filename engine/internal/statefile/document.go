package statefile

import (
	"encoding/json"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Document is state.json. Times are UTC with seconds, "" or nil where there is none.
type Document struct {
	Head
	// History has the completed iterations outside parallel blocks, oldest first.
	History []Iteration `json:"history"`
	Tail
}

// Head holds the members before the history, in the order of the file.
type Head struct {
	Session            string  `json:"session"`
	Type               string  `json:"type"` // loop or pipeline
	StartedAt          string  `json:"started_at"`
	Status             string  `json:"status"` // of package state; Bash's "complete" is read as completed
	CurrentStage       int     `json:"current_stage"`
	Iteration          int     `json:"iteration"`
	IterationCompleted int     `json:"iteration_completed"`
	IterationStarted   *string `json:"iteration_started"` // nil between iterations
	Stages             []Stage `json:"stages"`            // nodes entered or excluded in this run; none for a loop
	Run                int     `json:"run,omitempty"`     // of the whole pipeline, where it runs several times
	Runs               int     `json:"runs,omitempty"`    // number of all runs
	// Waiting are the ids of the questions that the user has not answered yet.
	Waiting []string `json:"waiting,omitempty"`
}

// StageName returns the id of the stage that the session is at, "" for loops.
func (f Head) StageName() string {
	for _, s := range f.Stages {
		if s.Index == f.CurrentStage {
			return s.Name
		}
	}
	return ""
}

// Tail holds the members that follow the history in the file: first those of the Bash engine, then those of this
// engine.
type Tail struct {
	// EventOffset is the number of events that Bash's last reconciliation folded. This engine leaves it 0.
	EventOffset      int64  `json:"event_offset"`
	CompletedAt      string `json:"completed_at,omitempty"` // completed and aborted runs
	CompletionReason string `json:"completion_reason,omitempty"`
	FailedAt         string `json:"failed_at,omitempty"`
	Error            *Error `json:"error,omitempty"`
	ErrorType        string `json:"error_type,omitempty"`
	ResumeFrom       int    `json:"resume_from,omitempty"` // the iteration that a resume begins with
	ResumedAt        string `json:"resumed_at,omitempty"`
	PausedAt         string `json:"paused_at,omitempty"`
	PauseReason      string `json:"pause_reason,omitempty"`

	PauseKind       string                          `json:"pause_kind,omitempty"`
	PauseCode       string                          `json:"pause_code,omitempty"` // error code of the escalation
	RunID           string                          `json:"run_id,omitempty"`
	Pipeline        string                          `json:"pipeline,omitempty"` // the pipeline's name
	CurrentAttempt  int                             `json:"current_attempt,omitempty"`
	IterationCount  int                             `json:"iteration_count"` // length of the history
	CompletedStages []string                        `json:"completed_stages"`
	StageArtifacts  map[string]map[string]event.Ref `json:"stage_artifacts,omitempty"` // by node id and name
	Visits          map[string]int                  `json:"visits,omitempty"`          // of nodes with a contract, by id
	Steps           map[string]map[string]string    `json:"steps,omitempty"`           // status by node id and step id
	Cycles          map[string]Cycle                `json:"cycles,omitempty"`          // by edge
	Budget          map[string]Budget               `json:"budget,omitempty"`          // by node id, "" for the session
	Retries         map[string]int                  `json:"retries,omitempty"`         // stage retries by node id
	Questions       []string                        `json:"questions,omitempty"`       // ids of open questions
	ApprovedStages  []string                        `json:"approved_stages,omitempty"` // by the user
	Pending
	TokensUsed *int64       `json:"total_tokens_used,omitempty"`
	CostUSD    *float64     `json:"total_cost_usd,omitempty"`
	EventSeq   int64        `json:"event_seq"` // number of the last applied event
	Scheduler  *state.State `json:"scheduler,omitempty"`
}

// Pending holds the subjects of open questions, and the text of a rejection.
type Pending struct {
	// Approval is the id of the stage whose work waits to be approved. Artifact is the path of the stage's
	// artifact, relative to the session's directory or absolute.
	Approval string `json:"pending_approval,omitempty"`
	Artifact string `json:"pending_artifact,omitempty"`
	// Feedback is the text of the user's rejection of a stage's work.
	Feedback   string `json:"pending_feedback,omitempty"`
	Escalation string `json:"escalation_id,omitempty"` // id of the question of an escalation
}

// Cycle is a counted edge that was taken.
type Cycle struct {
	Count   int      `json:"count"` // how often the edge was taken
	Limit   int      `json:"limit"`
	Reasons []string `json:"reasons"` // why the edge was taken the last times, oldest first
}

// Budget is a ceiling and its used part. An attempt that did not report its consumption counts with its whole
// reservation; UnknownUSD and UnknownTokens are the numbers of such attempts.
type Budget struct {
	LimitUSD      float64 `json:"limit_usd,omitempty"` // 0 for no limit, as in LimitTokens
	UsedUSD       float64 `json:"used_usd"`
	UnknownUSD    int     `json:"unknown_usd,omitempty"`
	LimitTokens   int64   `json:"limit_tokens,omitempty"`
	UsedTokens    int64   `json:"used_tokens"`
	UnknownTokens int     `json:"unknown_tokens,omitempty"`
}

// Stage is a node that was entered or is never reached. The members of the Bash engine's file come first.
type Stage struct {
	Index     int    `json:"index"`
	Name      string `json:"name"`   // the node's id
	Status    string `json:"status"` // running, complete, failed, skipped
	Timestamp string `json:"timestamp"`
	StartedAt string `json:"started_at,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	Visit     int    `json:"visit,omitempty"`
}

// Iteration is an entry of the history.
type Iteration struct {
	Iteration      int           `json:"iteration"`
	Timestamp      string        `json:"timestamp"`
	Stage          string        `json:"stage"`
	Decision       string        `json:"decision"`
	Reason         string        `json:"reason"`
	Summary        string        `json:"summary"`
	FilesTouched   []string      `json:"files_touched"`
	ItemsCompleted []string      `json:"items_completed"`
	Signals        event.Signals `json:"signals"`
}

// Error says why a run failed.
type Error struct {
	Type      string `json:"type"`
	Message   string `json:"message"`
	Timestamp string `json:"timestamp"`
}

// UnmarshalJSON also reads the plain text that the Bash engine writes for providers.
func (e *Error) UnmarshalJSON(data []byte) error {
	type object Error
	if len(data) > 0 && data[0] == '"' {
		*e = Error{}
		return json.Unmarshal(data, &e.Message)
	}
	return json.Unmarshal(data, (*object)(e))
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func timestamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return stamp(*t)
}

// urgency says when an event must appear in the file.
type urgency int

const (
	never urgency = iota
	soon
	atOnce
)

// worth has the urgency of events by type.
var worth = map[event.Type]urgency{
	event.SessionStart: atOnce, event.SessionImported: atOnce, event.SessionPaused: atOnce, event.SessionResumed: atOnce,
	event.SessionComplete: atOnce, event.SessionAborted: atOnce, event.RunStart: atOnce, event.NodeStart: atOnce,
	event.NodeComplete: atOnce, event.CycleStart: atOnce, event.Error: atOnce, event.QuestionAsked: atOnce, event.QuestionAnswered: atOnce,
	event.IterationStart: soon, event.IterationComplete: soon, event.AttemptStart: soon, event.Retry: soon, event.WorkerComplete: soon,
	event.StepStart: soon, event.StepComplete: soon, event.StepBlocked: soon, event.ParallelProviderStart: soon,
	event.ParallelProviderComplete: soon, event.ParallelProviderFailed: soon, event.ArtifactWritten: soon,
}
