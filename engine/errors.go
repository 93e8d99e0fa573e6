package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/session"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

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
