package engine

import (
	"io"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/messages"
	"github.com/dodo-digital/agent-pipelines/engine/internal/question"
	"github.com/dodo-digital/agent-pipelines/engine/internal/session"
	"github.com/dodo-digital/agent-pipelines/engine/internal/signing"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/engine/internal/verification"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// RunOptions selects the run.
type RunOptions = source.RunOptions

// NotFoundError means that a pipeline or stage is in none of the searched places.
type NotFoundError = sources.NotFoundError

// ResumeOptions selects the session to resume and changes its run.
type ResumeOptions = session.ResumeOptions

// RepairOptions selects the session to repair.
type RepairOptions = session.RepairOptions

// Repair describes the recovered session and the repair.
type Repair = session.Repair

// Verification is the result of the check of a session's journal.
type Verification = verification.Verification

// Keys are the keys that sign a user's messages to sessions, and the keys that the user trusts.
type Keys = signing.Keys

// Key is a public key.
type Key = signing.Key

// UserKeys returns the keys of the user who runs this program. It reads and writes nothing.
func UserKeys() Keys { return signing.UserKeys() }

// NewKey returns the public key with a text, for [Keys].Trust. The name may be "".
func NewKey(public, name string) (Key, error) { return signing.NewKey(public, name) }

// Resolution is an answer to an escalation, read from a file.
type Resolution = question.Resolution

// ReadResolution reads a resolution, which has at most 64 KiB. The error is a [Diagnostics] if it is not valid; file is
// the name in it.
func ReadResolution(file string, from io.Reader) (Resolution, error) {
	return question.ReadFrom(file, from)
}

// AnswerOptions is an answer to a question.
type AnswerOptions = messages.AnswerOptions

// PreflightResult describes a run or resume that could begin now.
type PreflightResult = session.PreflightResult

// The results of the queries of [inspect.Inspector]. Packages inspect and timeline define the types of their parts.
type (
	// Status describes a session.
	Status = inspect.Status
	// SessionInfo is one entry of a list of sessions.
	SessionInfo = inspect.SessionInfo
	// Question is a question of a session to the user.
	Question = inspect.Question
	// ArtifactInfo describes one version of a node's artifact in the latest run of a session.
	ArtifactInfo = inspect.ArtifactInfo
	// ArtifactContent is an artifact and its data.
	ArtifactContent = inspect.ArtifactContent
	// Inspection holds the results of all queries on a session, from one pass over its journal.
	Inspection = inspect.Inspection
	// History lists the node visits of a session's latest run.
	History = inspect.History
	// Metrics holds the metrics of a session's latest run, as metrics.json does, but always up to date.
	Metrics = inspect.Metrics
	// Visit is one visit of a node.
	Visit = timeline.Visit
)

// Update is one change in a session, for observers and subscribers.
type Update = inspect.Update

// Report is an agent's progress report.
type Report = inspect.Report

// Result describes how a run ended or why it paused.
type Result = inspect.Result

// Diagnostics lists faults and warnings of files, each with file, line and column. It is an error if it
// contains faults.
type Diagnostics = yamldoc.Diagnostics

// Errors for errors.Is. The wrapping errors name the session and give a hint.
var (
	// ErrNoSession: the session does not exist.
	ErrNoSession = store.ErrNoSession
	// ErrSessionName: the text is not a valid session name.
	ErrSessionName = store.ErrSessionName
	// ErrNothingToResume: the session has no work to resume.
	ErrNothingToResume = session.ErrNothingToResume
	// ErrTerminal: the session has completed or was aborted.
	ErrTerminal = session.ErrTerminal
	// ErrResumable: the session has unfinished work, which a new start would discard.
	ErrResumable = session.ErrResumable
	// ErrLocked: another kernel holds the session.
	ErrLocked = session.ErrLocked
	// ErrNoQuestion: the session has no such open question.
	ErrNoQuestion = session.ErrNoQuestion
	// ErrOptions: the options contradict each other or lack something.
	ErrOptions = session.ErrOptions
)
