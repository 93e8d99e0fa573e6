package store

import (
	"errors"
	"regexp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// MaxSession is the longest session name in bytes.
const MaxSession = 64

// Sentinel errors of session names, by which callers choose an exit code.
var (
	// ErrSessionName says that a text cannot name a session.
	ErrSessionName = errors.New("invalid session name")
	// ErrNoSession says that the project has no such session.
	ErrNoSession = errors.New("no such session")
)

var sessionPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// CheckSession returns nil for a valid session name: letters, digits, "_" and "-", at most [MaxSession] bytes.
// The error wraps [ErrSessionName] and says what to change.
func CheckSession(name string) error {
	var fault string
	switch {
	case name == "":
		fault = "it is empty"
	case len(name) > MaxSession:
		fault = "it is too long"
	case !sessionPattern.MatchString(name):
		fault = "it has other characters"
	default:
		return nil
	}
	shown := name
	if len(shown) > MaxSession {
		shown = shown[:MaxSession] + "..."
	}
	return failure.New(failure.SessionState, "%w %q: %s", ErrSessionName, shown, fault).
		WithHint("use 1 to %d letters, digits, underscores and hyphens", MaxSession)
}
