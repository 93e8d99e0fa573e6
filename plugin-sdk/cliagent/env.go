package cliagent

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// CallVariable is set to a random value in the environment of every process that [Run] starts, and
// is inherited by its descendants. It identifies the descendants that have left the process group and
// session.
const CallVariable = "AGENT_PIPELINES_CALL"

// Environ builds an agent's environment from base (usually os.Environ()) and added, which takes precedence.
// It omits the variables of the plugin handshake. The result is sorted and has unique names.
//
// The variables of the handshake are PLUGIN_*, which go-plugin passes to a plugin, and the cookie
// that marks a start by the kernel. They would confuse a plugin that the agent starts. Environ also
// omits [CallVariable].
func Environ(base []string, added map[string]string) []string {
	vars := make(map[string]string, len(base)+len(added))
	for _, kv := range base {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" && !isHandshake(name) {
			vars[name] = value
		}
	}
	for name, value := range added {
		if !isHandshake(name) {
			vars[name] = value
		}
	}
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func isHandshake(name string) bool {
	return strings.HasPrefix(name, "PLUGIN_") || name == handshakeCookie || name == CallVariable
}

// handshakeCookie equals wire.CookieKey. It is repeated here so that providers that are not served
// over gRPC do not link package wire.
const handshakeCookie = "AGENT_PIPELINES_PLUGIN_COOKIE"

// Getenv returns the value of a variable in an environment as returned by [Environ], "" if it is
// not set.
func Getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if n, value, ok := strings.Cut(kv, "="); ok && n == name {
			return value
		}
	}
	return ""
}

// withTraceParent returns env with the call's traceparent as TRACEPARENT, if its trace is recorded.
// Claude Code (since 2.1.110), Codex and OpenTelemetry's tools read it. An inherited TRACESTATE is
// removed, because it belongs to another trace.
func withTraceParent(ctx context.Context, env []string) []string {
	parent := sdk.TraceParent(ctx)
	if !strings.HasSuffix(parent, "-01") {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "TRACEPARENT=") || strings.HasPrefix(kv, "TRACESTATE=")
	})
	env = append(env, "TRACEPARENT="+parent)
	slices.Sort(env)
	return env
}
