package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

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
