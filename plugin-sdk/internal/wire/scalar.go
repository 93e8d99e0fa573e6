package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"time"
)

// MaxMessage is the largest message either side sends or accepts, in bytes.
const MaxMessage = 64 << 20

// Window is how many bytes of one attempt, and of a connection, may be on the way to a side that does not read.
const Window = 1 << 20

// text makes s fit for a protobuf string, which must be UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(list []string) []string {
	return mapAll(list, text)
}

func textMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[text(k)] = text(v)
	}
	return out
}

// jsonBytes is JSON on its way out; what is no JSON travels as it is and is quoted by the reader.
func jsonBytes(raw json.RawMessage) []byte { return []byte(raw) }

// fromJSON reads a JSON field: empty is absent, and bytes that are no JSON become a JSON string, so
// that whatever a peer sent can be stored in a JSON document.
func fromJSON(b []byte) json.RawMessage {
	if len(bytes.TrimSpace(b)) == 0 {
		return nil
	}
	if json.Valid(b) {
		return json.RawMessage(b)
	}
	quoted, err := json.Marshal(text(string(b)))
	if err != nil {
		return nil // a string always encodes
	}
	return quoted
}

// int32of holds a count within the wire's 32 bits.
func int32of(n int) int32 {
	return int32(max(math.MinInt32, min(math.MaxInt32, n))) //nolint:gosec // held within bounds
}

// millis rounds up, so that a duration that is not zero never becomes zero, which means none.
func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Millisecond) + 1
}

func fromMillis(ms int64) time.Duration {
	switch {
	case ms <= 0:
		return 0
	case ms > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64
	default:
		return time.Duration(ms) * time.Millisecond
	}
}

// mapAll converts a list and keeps nil for an empty one.
func mapAll[A, B any](list []A, convert func(A) B) []B {
	if len(list) == 0 {
		return nil
	}
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}
