package mcpserve

// Level is how far a client may go. Each holds the ones before it.
type Level string

// The levels.
const (
	// Read shows sessions, pipelines and what they would do.
	Read Level = "read"
	// Run also starts, pauses, resumes and aborts.
	Run Level = "run"
	// Approve also answers the questions of sessions to the user.
	Approve Level = "approve"
)

func (l Level) runs() bool { return l == Run || l == Approve }

func (l Level) approves() bool { return l == Approve }
