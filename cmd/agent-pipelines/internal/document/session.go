package document

import (
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/bundle"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Sessions lists the sessions of the project, newest first.
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// Session is a session in a list.
type Session struct {
	engine.SessionInfo
	// Tampered says how the journal of a session that has not ended differs from what the user left.
	Tampered string `json:"tampered,omitempty"`
}

// Questions are the questions of sessions.
type Questions struct {
	Questions []engine.Question `json:"questions"`
}

// Artifacts lists the artifacts of a session.
type Artifacts struct {
	Session   string                `json:"session"`
	Artifacts []engine.ArtifactInfo `json:"artifacts"`
}

// Artifact is one artifact of a session.
type Artifact struct {
	engine.ArtifactInfo
	// Data is the content without the envelope, nil if it is too large or was written to a file.
	Data map[string]any `json:"data,omitzero"`
	// Output is the absolute path of the file that the artifact was written to.
	Output string `json:"output,omitempty"`
}

// Report describes the written report page of a session.
type Report struct {
	Session string `json:"session"`
	Output  string `json:"output"` // absolute
	Bytes   int    `json:"bytes"`
}

// Export describes the written archive of a session.
type Export struct {
	Output string `json:"output"` // absolute
	Bytes  int64  `json:"bytes"`
	bundle.Manifest
}

// RemovedSessions lists the sessions that were removed, or that a dry run would remove.
type RemovedSessions struct {
	Removed []string `json:"removed"`
	Would   []string `json:"would_remove,omitempty"`
}
