package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The environment variables that identify the processes of a run. They are set for every plugin and inherited
// by its children.
const (
	// MarkerVariable holds a [Marker].
	MarkerVariable = "AGENT_PIPELINES_RUN"
	// ProcessVariable holds the number of the plugin process within its kernel.
	ProcessVariable = "AGENT_PIPELINES_PROCESS"
)

// Marker names a run and the kernel process that works on it, as "<run>@<pid>.<start>". PID and start time
// together distinguish a living kernel from a later process with the same number.
type Marker struct {
	// Run is the caller's name of the run, any text without NUL; [Table.Sweep] selects runs by a prefix of the name.
	Run string
	// PID is the kernel's process id.
	PID int
	// Start is the kernel's start time in the operating system's own unit, 0 if unknown.
	Start uint64
}

// NewMarker returns the marker of a run of this process.
func NewMarker(run string) Marker {
	pid := os.Getpid()
	start, _ := startTime(pid)
	return Marker{Run: run, PID: pid, Start: start}
}

// String returns the value of [MarkerVariable].
func (m Marker) String() string { return fmt.Sprintf("%s@%d.%d", m.Run, m.PID, m.Start) }

// ParseMarker reads the result of String; ok is false for anything else.
func ParseMarker(s string) (m Marker, ok bool) {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return Marker{}, false
	}
	pid, start, found := strings.Cut(s[at+1:], ".")
	if !found {
		return Marker{}, false
	}
	n, err := strconv.Atoi(pid)
	if err != nil || n <= 0 {
		return Marker{}, false
	}
	t, err := strconv.ParseUint(start, 10, 64)
	if err != nil {
		return Marker{}, false
	}
	return Marker{Run: s[:at], PID: n, Start: t}, true
}
