package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// maxLockFile limits the bytes read of a lock file; ours have a few hundred.
const maxLockFile = 64 << 10

// LockInfo is the content of a lock file: the process that holds the session. The Bash engine writes only the
// first three members.
type LockInfo struct {
	Session   string    `json:"session"`
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"` // of the lock, UTC, whole seconds; zero if the file has no such time
	// StartTime distinguishes the process from a later one with the same number. Its form depends on the
	// operating system; "" where it is unknown.
	StartTime string `json:"start_time,omitempty"`
	// Host is the name of the machine or container in which PID is valid; "" is this machine.
	Host string `json:"host,omitempty"`
	// Marker is the text in the environment of the run's processes, see [LockOptions].
	Marker string `json:"marker,omitempty"`
}

// ownLockInfo describes this process as the holder.
func ownLockInfo(session, marker string) LockInfo {
	pid := os.Getpid()
	start, _ := processStart(pid)
	return LockInfo{
		Session: session, PID: pid, StartedAt: time.Now().UTC().Truncate(time.Second),
		StartTime: start, Host: hostname(), Marker: marker,
	}
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "" // then only process numbers are compared
	}
	return name
}

// render returns the text of the file, pretty-printed as the Bash engine does it.
func (i LockInfo) render() ([]byte, error) {
	text, err := json.MarshalIndent(i, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("render lock: %w", err)
	}
	return append(text, '\n'), nil
}

// parseLock reads a lock file; ok is false for text that names no process. Text after the first JSON value is
// ignored: it is the rest of a longer text that is being overwritten.
func parseLock(text []byte) (info LockInfo, ok bool) {
	var raw struct {
		LockInfo
		StartedAt string `json:"started_at"` // an unreadable time does not invalidate the lock
	}
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&raw)
	var mistyped *json.UnmarshalTypeError // of a member; the other members are read
	if err != nil && !errors.As(err, &mistyped) || raw.PID <= 0 {
		return LockInfo{}, false
	}
	info = raw.LockInfo
	if at, err := time.Parse(time.RFC3339, raw.StartedAt); err == nil {
		info.StartedAt = at.UTC()
	}
	return info, true
}

// isLocal reports whether the process belongs to this machine and can be checked.
func (i LockInfo) isLocal() bool {
	host := hostname()
	return i.Host == "" || host == "" || i.Host == host
}

// isAlive reports whether the process is known to run. If its start time is unknown, a process with its number
// counts as alive.
func (i LockInfo) isAlive() bool {
	if i.PID <= 0 || !i.isLocal() || !isRunning(i.PID) {
		return false
	}
	start, known := processStart(i.PID)
	return i.StartTime == "" || !known || start == i.StartTime
}

// holderText names the holder in a message.
func (i LockInfo) holderText() string {
	switch {
	case i.PID <= 0:
		return "PID unknown"
	case !i.isLocal():
		return fmt.Sprintf("PID %d on %s", i.PID, i.Host)
	default:
		return fmt.Sprintf("PID %d", i.PID)
	}
}
