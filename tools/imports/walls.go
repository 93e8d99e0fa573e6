package imports

import "slices"

// Wall says what a room may import. A file is judged by the first wall of the table whose Room
// matches it; a file without a wall is a finding, so that new rooms are thought about.
//
// A pattern is an import path (ours without [Prefix]), or a tree when it ends in /..., with * for one
// element. "std" is the standard library, "others" is everybody else's code.
type Wall struct {
	// Room names the packages, or a single file, that the wall surrounds.
	Room string
	// Allow is what may be imported. The tree of a Room that ends in /... may import itself.
	Allow []string
	// Deny takes away from Allow; for product files only, tests may use all of "std".
	Deny []string
	// Reason is told to whoever meets the wall.
	Reason string
}

// impure is what the nouns of the kernel must not reach: the world, time's passing, other goroutines.
var impure = []string{
	"os/...", "net/...", "syscall/...", "io/fs", "io/ioutil", "log/...", "plugin", "unsafe",
	"sync/...", "context", "runtime/...", "math/rand/...", "crypto/rand",
}

// wire is what speaking the plugin protocol needs.
var wire = []string{
	"std", "plugin-sdk/...", "golang.org/x/sys/...", "github.com/hashicorp/go-plugin/...",
	"github.com/hashicorp/go-hclog", "google.golang.org/grpc/...", "google.golang.org/protobuf/...",
}

// kernelInside is what the packages of the kernel are made of.
var kernelInside = []string{
	"std", "plugin-sdk/...", "kernel/...", "github.com/hashicorp/go-hclog", "golang.org/x/sync/...", "golang.org/x/sys/...",
	"github.com/gofrs/flock", "github.com/google/renameio/v2/...",
	"github.com/charmbracelet/x/ansi",  // decision 4
	"github.com/bmatcuk/doublestar/v4", // globs of policies
}

// engineInside is what the packages inside the engine are made of.
var engineInside = slices.Concat(kernelInside, []string{"engine/internal/..."})

// forTests is what tests may import beside what their room may.
var forTests = []string{
	"std", "github.com/google/go-cmp/...", "go.uber.org/goleak", "pgregory.net/rapid",
	"github.com/rogpeppe/go-internal/...",
}

const (
	pureReason   = "the nouns are pure: they hold no I/O, clock, chance or goroutine, so that replay repeats exactly"
	sdkReason    = "third parties import plugin-sdk alone; all it pulls in, they must carry"
	pluginReason = "a plugin is written against plugin-sdk, as a third party's is; it meets the kernel over a socket"
)

// Walls is the table of rooms, special ones before general ones.
var Walls = []Wall{
	{Room: "plugin-sdk/failure", Allow: []string{"std"}, Reason: "the pure nouns use it, so it uses nothing"},
	{Room: "plugin-sdk/redact", Allow: []string{"std"}, Reason: "the kernel and plugins take secrets out of texts by the same rules; it knows texts alone"},
	{
		Room: "plugin-sdk", Allow: []string{"std", "plugin-sdk/failure"},
		Reason: "the contracts are plain Go: protocol buffers and gRPC stay behind internal/wire",
	},
	{
		Room: "plugin-sdk/plugintest/...", Allow: slices.Concat(wire, forTests),
		Reason: "the conformance suite is imported by other people's tests; " + sdkReason,
	},
	{Room: "plugin-sdk/...", Allow: wire, Reason: sdkReason},

	{Room: "kernel/plan", Allow: []string{"std", "plugin-sdk/failure"}, Deny: impure, Reason: pureReason},
	{
		Room: "kernel/event", Allow: []string{"std", "plugin-sdk/failure", "kernel/plan"},
		Deny: impure, Reason: pureReason,
	},
	{
		Room: "kernel/state", Allow: []string{"std", "plugin-sdk/failure", "kernel/plan", "kernel/event"},
		Deny: impure, Reason: pureReason,
	},
	{
		Room:  "kernel/schedule",
		Allow: []string{"std", "plugin-sdk/failure", "kernel/plan", "kernel/event", "kernel/state"},
		Deny:  impure, Reason: pureReason,
	},
	{
		Room: "kernel/pluginhost/...", Allow: slices.Concat(wire, kernelInside),
		Reason: "this package alone speaks to plugins; it knows none of them by name and nothing of the packages above",
	},
	{
		Room: "kernel/condition", Allow: []string{"std", "plugin-sdk/nearest", "github.com/expr-lang/expr/..."},
		Reason: "this package alone evaluates expressions of files, over six variables: nothing else is in its reach",
	},
	{
		Room: "kernel/schema", Allow: []string{"std", "plugin-sdk/nearest", "github.com/santhosh-tekuri/jsonschema/..."},
		Reason: "this package alone validates data against a JSON Schema; it reads no file and fetches nothing",
	},
	{
		Room: "kernel/yamldoc", Allow: []string{"std", "gopkg.in/yaml.v3"},
		Reason: "this package alone reads YAML",
	},
	{
		Room: "kernel/...", Allow: kernelInside,
		Reason: "the kernel decides and remembers: it knows no engine, plugin, screen or network client",
	},
	{
		Room: "engine/internal/tokens", Allow: []string{"std", "github.com/tiktoken-go/tokenizer/codec"},
		Reason: "this package alone counts tokens, by vocabularies in the binary: it reads no file and fetches nothing",
	},
	{
		Room: "engine/internal/sandbox/*_test.go", Allow: slices.Concat(engineInside, forTests, []string{"golang.org/x/net/bpf"}),
		Reason: "the tests start confined plugins as the kernel does",
	},
	{
		Room:   "engine/internal/sandbox",
		Allow:  []string{"std", "plugin-sdk/failure", "kernel/sandboxpolicy", "golang.org/x/sys/unix", "golang.org/x/net/bpf"},
		Reason: "this package runs in processes before they are confined: it imports as little as possible",
	},
	{
		Room: "engine/internal/...", Allow: engineInside,
		Reason: "imports point down only: package engine connects these packages, and none of them knows a plugin or a screen",
	},
	{
		Room: "engine/enginetest", Allow: []string{"std", "plugin-sdk/...", "engine", "kernel/plan", "kernel/event", "kernel/state"},
		Reason: "other people's tests import it: it uses the engine as they do, by its public packages",
	},
	{
		Room: "engine/crashtest", Allow: []string{"std", "kernel/event", "kernel/yamldoc", "kernel/pluginhost/process"},
		Reason: "it compares sessions from outside, by their files and their journal; it runs no engine in its own process",
	},
	{
		Room:   "engine",
		Allow:  []string{"std", "engine/...", "kernel/...", "plugin-sdk/...", "golang.org/x/sync/...", "github.com/hashicorp/go-hclog"},
		Reason: "the engine connects its own packages; plugins reach it through a socket, the command calls it",
	},

	{
		Room:   "plugins/hooks/...",
		Allow:  []string{"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog", "github.com/cenkalti/backoff/v5"},
		Reason: pluginReason,
	},
	{
		Room:   "plugins/acp/...",
		Allow:  []string{"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog", "github.com/coder/acp-go-sdk"},
		Reason: pluginReason,
	},
	{
		Room: "plugins/agent/...",
		Allow: []string{
			"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog", "github.com/cenkalti/backoff/v5", "github.com/openai/openai-go/v3/...",
			"github.com/anthropics/anthropic-sdk-go/...", "mvdan.cc/sh/v3/...", "github.com/santhosh-tekuri/jsonschema/v6/...",
			"github.com/bmatcuk/doublestar/v4", "github.com/bluekeyes/go-gitdiff/...", "golang.org/x/text/unicode/norm", "github.com/aymanbagabas/go-udiff/...", "golang.org/x/sync/...",
		},
		Reason: pluginReason,
	},
	{
		Room: "plugins/*/...", Allow: []string{"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog"},
		Reason: pluginReason,
	},
	{
		Room: "cmd/agent-pipelines/bundled.go", Allow: []string{"std", "cmd/agent-pipelines/internal/cli", "plugins/..."},
		Reason: "this file serves the plugins from the one binary, out of process, and does nothing else",
	},
	{
		Room: "cmd/agent-pipelines/internal/mcpserve",
		Allow: []string{
			"std", "engine", "kernel/event", "kernel/state", "cmd/agent-pipelines/internal/...", "github.com/modelcontextprotocol/go-sdk/jsonrpc", "github.com/modelcontextprotocol/go-sdk/mcp",
		},
		Reason: "this room offers what the command and the kernel do; it knows no plugin, and no rules of its own for pipelines",
	},
	{
		Room: "cmd/agent-pipelines/mcp_test.go", Allow: slices.Concat(forTests, []string{"cmd/agent-pipelines/internal/mcpserve", "github.com/modelcontextprotocol/go-sdk/mcp"}),
		Reason: "the test is a client of the real command",
	},
	{
		Room: "cmd/agent-pipelines/internal/trace", Allow: []string{"std", "kernel/event", "kernel/state", "kernel/plan", "go.opentelemetry.io/otel/attribute"},
		Reason: "spans are a fold of events; what they are sent with is another room's",
	},
	{
		Room: "cmd/agent-pipelines/internal/telemetry",
		Allow: []string{
			"std", "cmd/agent-pipelines/internal/trace", "cmd/agent-pipelines/internal/collector", "engine", "kernel/event", "kernel/state", "plugin-sdk/redact", "go.opentelemetry.io/otel/...", "go.opentelemetry.io/otel", "github.com/go-logr/logr",
		},
		Reason: "this room alone sends telemetry: the SDK and its exporters stay behind it",
	},
	{
		Room: "cmd/agent-pipelines/internal/exposition",
		Allow: []string{
			"std", "engine", "kernel/event", "kernel/plan", "github.com/prometheus/client_model/go", "github.com/prometheus/common/expfmt", "github.com/prometheus/common/model",
		},
		Reason: "this room alone writes the text format of Prometheus",
	},
	{
		Room: "cmd/agent-pipelines/internal/collector",
		Allow: []string{
			"std", "kernel/event", "go.opentelemetry.io/proto/otlp/...", "google.golang.org/grpc", "google.golang.org/protobuf/proto",
		},
		Reason: "the other end of telemetry, for tests: it knows the protocol and the journal, not what sends",
	},
	{
		Room: "cmd/agent-pipelines/...",
		Allow: []string{
			"std", "engine", "kernel/plan", "kernel/event", "kernel/state", "engine/crashtest", "plugin-sdk/...",
			"github.com/alecthomas/kong", "github.com/hashicorp/go-hclog", "golang.org/x/term", "golang.org/x/sys/...", "charm.land/bubbletea/v2", "github.com/aymanbagabas/go-udiff",
			"github.com/google/jsonschema-go/jsonschema", // what --json prints is described by its Go types
		},
		Reason: "the command turns flags into calls of the kernel; only bundled.go knows the plugins",
	},

	{
		Room: "test/...",
		Allow: []string{
			"std", "others", "plugin-sdk/...", "engine", "kernel/plan", "kernel/event", "kernel/state", "kernel/schedule", "engine/crashtest",
		},
		Reason: "what is tested end to end is tested from outside: through the binary, its files and the public packages",
	},
	{
		Room: "bench/...", Allow: []string{"std", "others", "plugin-sdk/...", "engine", "kernel/event"},
		Reason: "figures are of what users have: the command, its files and the public packages",
	},
	{Room: "tools/...", Allow: []string{"std", "others"}, Reason: "tools judge the product and are no part of it"},
}

// Single is an import that one room of product code may have and no second.
type Single struct{ Import, Reason string }

// Singles lists the imports that stay in one place.
var Singles = []Single{
	{"gopkg.in/yaml.v3", "one private room reads YAML, so that moving to the maintained fork is one line"},
	{"github.com/coder/acp-go-sdk", "one plugin speaks the Agent Client Protocol; everything else knows its provider"},
	{"github.com/modelcontextprotocol/go-sdk/mcp", "one private room speaks the Model Context Protocol; everything else knows verbs"},
	{"go.opentelemetry.io/otel/sdk/trace", "one private room sends telemetry; all else of it is events"},
	{"charm.land/bubbletea/v2", "one private room takes the whole screen; everything else writes lines"},
}
