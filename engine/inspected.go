package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// The answers of [inspect.Inspector].
type (
	// Status describes a session.
	Status = inspect.Status
	// SessionInfo is one entry of a list of sessions.
	SessionInfo = inspect.SessionInfo
	// StageResult is the state of one node: its last visit in the last run of the pipeline.
	StageResult = inspect.StageResult
	// ProviderStatus is the state of a provider of a parallel block.
	ProviderStatus = inspect.ProviderStatus
	// StepStatus is the state of one step of the session's current node.
	StepStatus = inspect.StepStatus
	// SupersededAttempt is an attempt that was repeated, with the workspace changes in between.
	SupersededAttempt = inspect.SupersededAttempt
	// CycleStatus is the state of a counted edge.
	CycleStatus = inspect.CycleStatus
	// BudgetStatus is the consumption of a budget.
	BudgetStatus = inspect.BudgetStatus
	// LateDelivery is a delivery of an abandoned attempt, and its treatment.
	LateDelivery = inspect.LateDelivery
	// Survivor is a process that a plugin or a dead kernel left running.
	Survivor = inspect.Survivor
	// Health rates the progress of a run from its events alone (REQUIREMENTS U233).
	Health = inspect.Health
	// Question is a question of a session to the user.
	Question = inspect.Question
	// QuestionCommands holds command lines for a question.
	QuestionCommands = inspect.QuestionCommands
	// Escalation describes how to answer an escalation with a file.
	Escalation = inspect.Escalation
	// Deliverable is the artifact that a run delivers: that of the last node of the pipeline, in list order, that succeeded or was skipped and has one.
	Deliverable = inspect.Deliverable
	// ArtifactInfo describes one version of a node's artifact in the latest run of a session.
	ArtifactInfo = inspect.ArtifactInfo
	// ArtifactContent is an artifact and its data.
	ArtifactContent = inspect.ArtifactContent
	// Inspection holds the results of all queries on a session, from one pass over its journal.
	Inspection = inspect.Inspection
	// History lists the node visits of a session's latest run.
	History = inspect.History
	// Metrics holds the metrics of a session's latest run: metrics.json, brought up to date.
	Metrics = inspect.Metrics
	// Visit is one visit of a node.
	Visit = timeline.Visit
	// Work counts attempts and their consumption.
	Work = timeline.Work
	// StepCounts counts the steps of a node by status.
	StepCounts = timeline.Steps
	// StageMetrics holds the metrics of all visits of a node.
	StageMetrics = timeline.Stage
	// CycleMetrics is a counted edge that has been taken.
	CycleMetrics = timeline.Cycle
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
