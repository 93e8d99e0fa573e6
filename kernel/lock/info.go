package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// maxFile bounds what is read of a lock file; ours have a few hundred bytes.
const maxFile = 64 << 10

// Info is what a lock file says about the process that holds the session. The Bash engine writes the
// first three members alone.
type Info struct {
	Session   string    `json:"session"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"` // of the lock, UTC, whole seconds; zero if the file has no such time
	// StartTime tells the process from a later one with the same number. Its form is the operating
	// system's; "" where it is not known.
	StartTime string `json:"start_time,omitempty"`
	// Host is the name of the machine or container that PID counts on; "" is this one.
	Host string `json:"host,omitempty"`
	// Marker is what the processes of the run carry in their environment, see [Options].
	Marker string `json:"marker,omitempty"`
}

// own describes this process as the holder.
func own(session, marker string) Info {
	pid := os.Getpid()
	start, _ := startTime(pid)
	return Info{
		Session: session, PID: pid, StartedAt: time.Now().UTC().Truncate(time.Second),
		StartTime: start, Host: hostname(), Marker: marker,
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "" // then numbers alone are compared
	}
	return name
}

// render is the file's text, pretty-printed as the Bash engine does it.
func (i Info) render() ([]byte, error) {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render lock: %w", err)
	}
	return append(text, '\n'), nil
}

// parse reads a lock file; ok is false for text that names no process. What follows the first JSON
// value is ignored: it is the rest of a longer text that is being overwritten.
func parse(text []byte) (info Info, ok bool) {
	var raw struct {
		Info
		StartedAt string `json:"started_at"` // a time nobody can read makes no lock invalid
	}
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&raw)
	var mistyped *json.UnmarshalTypeError // of a member; the others are read
	if err != nil && !errors.As(err, &mistyped) || raw.PID <= 0 {
		return Info{}, false
	}
	info = raw.Info
	if at, err := time.Parse(time.RFC3339, raw.StartedAt); err == nil {
		info.StartedAt = at.UTC()
	}
	return info, true
}

// here reports whether the process is one of this machine and can be looked up.
func (i Info) here() bool {
	host := hostname()
	return i.Host == "" || host == "" || i.Host == host
}

// alive reports whether the process is known to run. In doubt whether its number was reused it runs.
func (i Info) alive() bool {
	if i.PID <= 0 || !i.here() || !running(i.PID) {
		return false
	}
	start, known := startTime(i.PID)
	return i.StartTime == "" || !known || start == i.StartTime
}

// who names the holder in a message.
func (i Info) who() string {
	switch {
	case i.PID <= 0:
		return "PID unknown"
	case !i.here():
		return fmt.Sprintf("PID %d on %s", i.PID, i.Host)
	default:
		return fmt.Sprintf("PID %d", i.PID)
	}
}
