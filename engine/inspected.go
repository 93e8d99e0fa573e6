package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Answers of the queries about sessions, see the methods of [inspect.Inspector].
type (
	Status            = inspect.Status
	SessionInfo       = inspect.SessionInfo
	StageResult       = inspect.StageResult
	ProviderStatus    = inspect.ProviderStatus
	StepStatus        = inspect.StepStatus
	SupersededAttempt = inspect.SupersededAttempt
	Survivor          = inspect.Survivor
	Health            = inspect.Health
	Question          = inspect.Question
	QuestionCommands  = inspect.QuestionCommands
	Escalation        = inspect.Escalation
	Deliverable       = inspect.Deliverable
	ArtifactInfo      = inspect.ArtifactInfo
	ArtifactContent   = inspect.ArtifactContent
	Inspection        = inspect.Inspection
	History           = inspect.History
	Metrics           = inspect.Metrics
	Visit             = timeline.Visit
	Work              = timeline.Work
	StepCounts        = timeline.Steps
	StageMetrics      = timeline.Stage
	CycleMetrics      = timeline.Cycle
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

// Labels of [Health], and the score below which the label is a warning.
const (
	HealthOK        = inspect.HealthOK
	HealthWarning   = inspect.HealthWarning
	HealthThreshold = inspect.HealthThreshold
)
