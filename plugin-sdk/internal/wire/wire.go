package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// MaxMessage is the maximum size of a message in either direction, in bytes.
const MaxMessage = 64 << 20

// Window is the maximum number of unread bytes of one attempt, and of a connection.
const Window = 1 << 20

// text replaces invalid UTF-8 in s, which a protobuf string does not allow.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(list []string) []string {
	all := make([]string, len(list))
	for i, s := range list {
		all[i] = text(s)
	}
	return all
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

// fromJSON decodes a JSON field: empty means absent, and invalid JSON becomes a JSON string, so
// that it can be stored in a JSON document.
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

// millis rounds up, so that a positive duration never becomes 0, which means none.
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

// The constants on which both ends must agree before the first call. The cookie and PluginSet never
// change.
const (
	// CookieKey and CookieValue are the name and value of the environment variable that shows a
	// binary that the kernel started it. They are not secret; they only prevent users from starting
	// plugins directly.
	CookieKey   = "AGENT_PIPELINES_PLUGIN_COOKIE"
	CookieValue = "7d8d9c1b5a1e4e0f9a55c7a2b6f4d3e8"
	// LogLevel is the environment variable with the level of a plugin's log on stderr: trace,
	// debug, info, warn, error or off. It stays in the environment for the plugin's children.
	LogLevel = "AGENT_PIPELINES_PLUGIN_LOG_LEVEL"
	// Process is the environment variable with the number of a plugin process within its kernel.
	Process = "AGENT_PIPELINES_PROCESS"
	// Reattach is the environment variable that names running plugin processes to the kernel.
	Reattach = "AGENT_PIPELINES_REATTACH"
	// Protocol is the newest and so far only protocol major.
	Protocol = 1
	// PluginSet is the name under which go-plugin dispenses the connection.
	PluginSet = "agentpipelines"
)

// traceParent is the metadata key of the traceparent, as named by W3C.
const traceParent = "traceparent"

// Outgoing adds the call's traceparent to its outgoing metadata.
func Outgoing(ctx context.Context) context.Context {
	if parent := sdk.TraceParent(ctx); parent != "" {
		return metadata.AppendToOutgoingContext(ctx, traceParent, parent)
	}
	return ctx
}

// Incoming adds the traceparent in the incoming metadata to ctx. An invalid or duplicate
// traceparent is ignored.
func Incoming(ctx context.Context) context.Context {
	if all := metadata.ValueFromIncomingContext(ctx, traceParent); len(all) == 1 {
		return sdk.WithTraceParent(ctx, all[0])
	}
	return ctx
}
