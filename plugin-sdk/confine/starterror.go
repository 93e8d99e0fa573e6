package confine

import (
	"encoding/json"
	"syscall"
)

// StartErrorPrefix begins the line on stderr with which a process reports why it could not confine itself or execute
// the program.
const StartErrorPrefix = "sandbox-start-error: "

// StartError is the reason why a sandboxed process did not become the program.
type StartError struct {
	// Text is the error message.
	Text string `json:"text"`
	// Exec means that the sandbox works, but the program cannot be executed because of Errno.
	Exec  bool          `json:"exec,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
}

// Line returns the line on stderr, [StartErrorPrefix] and JSON.
func (t StartError) Line() string {
	b, _ := json.Marshal(t) // strings and numbers always encode
	return StartErrorPrefix + string(b) + "\n"
}
