package cliagent

import (
	"context"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// traced is an environment with the place of the call in its trace, where the trace is recorded: as TRACEPARENT, which Claude
// Code (from 2.1.110 on), Codex and OpenTelemetry's own tools read. A TRACESTATE that was inherited belongs to another
// trace then.
func traced(ctx context.Context, env []string) []string {
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
