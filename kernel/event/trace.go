package event

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// TraceID is the id of a trace in the W3C trace context: a hash of the run's id, so that a replay yields the same
// TraceID.
type TraceID [16]byte

// SpanID is the id of a span in its trace: a hash of the run's id, the key and the epoch.
type SpanID [8]byte

// String returns the id in lower-case hex.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// String returns the id in lower-case hex.
func (s SpanID) String() string { return hex.EncodeToString(s[:]) }

// The kinds of keys that only name spans and request nothing. A key of kind node with a step or branch is for
// that part of the node.
const (
	KeyNode      KeyKind = "node"
	KeyIteration KeyKind = "iteration"
)

// RunTraceID returns the trace of a run.
func RunTraceID(runID string) (id TraceID) {
	sum := sha256.Sum256([]byte("trace\x00" + runID))
	copy(id[:], sum[:])
	return id
}

// KeySpanID returns the span of a key, or of the whole run if the key is empty. From the second epoch on the epoch is
// part of the name, because work that a crash interrupted is repeated under its key.
func KeySpanID(runID string, key Key, epoch int) (id SpanID) {
	name := "span\x00" + runID
	if key != "" {
		name += "\x00" + string(key)
	}
	if epoch > 1 {
		name += "\x00" + strconv.Itoa(epoch)
	}
	sum := sha256.Sum256([]byte(name))
	copy(id[:], sum[:])
	return id
}

// Parent returns the key of the enclosing span: an iteration encloses everything with its number, a provider or a
// step its iterations, a node its parts. It is "" for a whole node, and for a key without a node.
func (k Key) Parent() Key {
	kind, loc, _, ok := k.Parse()
	switch {
	case !ok || loc.Node == "":
		return ""
	case loc.Iteration > 0 && kind != KeyIteration && kind != KeyTimer:
		return loc.Key(KeyIteration, 1)
	}
	loc.Iteration = 0
	if loc.Branch != "" {
		loc.Node = loc.Outer()
	}
	if kind == KeyNode {
		if loc.Step == "" && loc.Branch == "" {
			return ""
		}
		loc.Step, loc.Branch = "", ""
	}
	return loc.Key(KeyNode, 1)
}

// CallKey returns the key of the span of an attempt's provider call. Any other action (a strategy, a question, a
// hook, a check) is a single plugin call, which shares the span of its key.
func (k Key) CallKey() Key {
	if k.Kind() == KeyAttempt {
		return k + "/call"
	}
	return k
}

// traceIDs returns the ids of the event's line: the trace, the event's own span, and the enclosing span. An event
// without a key belongs to the span of the run. Enclosing spans are named as in the first epoch, because a line does
// not show which spans a later kernel repeated.
func (e Event) traceIDs() (traceID, spanID, parent string) {
	if e.RunID == "" {
		return "", "", ""
	}
	traceID = RunTraceID(e.RunID).String()
	if e.Key == "" {
		return traceID, KeySpanID(e.RunID, "", 0).String(), ""
	}
	return traceID, KeySpanID(e.RunID, e.Key, e.Epoch).String(), KeySpanID(e.RunID, e.Key.Parent(), 0).String()
}
