package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/messages"
	"github.com/dodo-digital/agent-pipelines/engine/internal/session"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
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

// AnswerOptions is an answer to a question.
type AnswerOptions = messages.AnswerOptions

// PreflightResult describes a run or resume that could begin now.
type PreflightResult = session.PreflightResult
