package event

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// TraceID is the id of a trace, as the W3C trace context has it. It is a hash of a name, as a [SpanID] is, so that whoever
// knows a run and a key knows them, too: no id is kept, and a replay yields the same ones (DESIGN 5).
type TraceID [16]byte

// SpanID is the id of a span in its trace.
type SpanID [8]byte

// String is the id in lower-case hex.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// String is the id in lower-case hex.
func (s SpanID) String() string { return hex.EncodeToString(s[:]) }

// The kinds of keys that only name spans: nothing is asked for by them. A node's key has the step or the branch where it
// is that of a part of the node.
const (
	KeyNode      KeyKind = "node"
	KeyIteration KeyKind = "iteration"
)

// TraceOf is the trace of a run.
func TraceOf(runID string) (id TraceID) {
	sum := sha256.Sum256([]byte("trace\x00" + runID))
	copy(id[:], sum[:])
	return id
}

// SpanOf is the span of what a key names, or of the whole run where that is empty. What is cut off by a crash is done
// again under its key, by a kernel of another epoch: from the second one on that is part of the name.
func SpanOf(runID string, key Key, epoch int) (id SpanID) {
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

// Around is the key of the span around that of k: an iteration is around all that has its number, the part of a node
// that works by itself (a provider of a block, a step) around its iterations, a node around its parts. It is "" around a
// node and around what no node is the place of.
func (k Key) Around() Key {
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

// Call is the key of the span of the provider's call that an attempt makes. What else calls a plugin (a strategy, a
// question, a hook, a check) is nothing but that call, and has one span for both.
func (k Key) Call() Key {
	if k.Kind() == KeyAttempt {
		return k + "/call"
	}
	return k
}

// trace are the ids of the event's line: its own span and the one around it. An event without a key belongs to the span
// of the run. The spans around are named as in the first epoch: which ones a later kernel began anew, a line does not
// know.
func (e Event) traceIDs() (traceID, spanID, parent string) {
	if e.RunID == "" {
		return "", "", ""
	}
	traceID = TraceOf(e.RunID).String()
	if e.Key == "" {
		return traceID, SpanOf(e.RunID, "", 0).String(), ""
	}
	return traceID, SpanOf(e.RunID, e.Key, e.Epoch).String(), SpanOf(e.RunID, e.Key.Around(), 0).String()
}
