package imports

import "slices"

// Rule lists the packages that a package may import. The first rule whose Package matches a file
// applies to it; a file without a rule is a finding.
//
// A pattern is an import path (ours without [Prefix]), or a tree if it ends in /..., with * for one
// element. "std" is the standard library, "others" is all third-party code.
type Rule struct {
	// Package is the pattern of the packages, or a single file, to which the rule applies.
	Package string
	// Allow are the allowed imports. The tree of a Package that ends in /... may import itself.
	Allow []string
	// Deny are exceptions from Allow, only for product files; tests may use all of "std".
	Deny []string
	// Reason is printed with a finding.
	Reason string
}

// impure are the imports that the pure packages of the kernel must not use: I/O, time, randomness,
// goroutines.
var impure = []string{
	"os/...", "net/...", "syscall/...", "io/fs", "io/ioutil", "log/...", "plugin", "unsafe",
	"sync/...", "context", "runtime/...", "math/rand/...", "crypto/rand",
}

// wire are the imports that the plugin protocol needs.
var wire = []string{
	"std", "plugin-sdk/...", "golang.org/x/sys/...", "github.com/hashicorp/go-plugin/...",
	"github.com/hashicorp/go-hclog", "google.golang.org/grpc/...", "google.golang.org/protobuf/...",
}

// kernelInside are the imports of the packages of the kernel.
var kernelInside = []string{
	"std", "plugin-sdk/...", "kernel/...", "github.com/hashicorp/go-hclog", "golang.org/x/sys/...",
	"github.com/charmbracelet/x/ansi",  // docs/decisions/0004-a-library-strips-escape-sequences.md
	"github.com/bmatcuk/doublestar/v4", // globs of policies
}

// engineInside are the imports of the packages inside the engine.
var engineInside = slices.Concat(kernelInside, []string{"engine/internal/..."})

// commandInside are the imports of the packages of the command.
var commandInside = []string{
	"std", "engine", "engine/authoring", "engine/inspect", "engine/timeline", "kernel/plan", "kernel/event", "kernel/state", "kernel/pluginhost", "kernel/store", "engine/crashtest", "plugin-sdk/...",
	"github.com/alecthomas/kong", "github.com/hashicorp/go-hclog", "golang.org/x/term", "golang.org/x/sys/...", "github.com/charmbracelet/x/ansi", "github.com/aymanbagabas/go-udiff",
	"github.com/google/jsonschema-go/jsonschema", // the Go types describe the output of --json
}

// forTests are further imports that all tests may use.
var forTests = []string{
	"std", "github.com/google/go-cmp/...", "go.uber.org/goleak", "pgregory.net/rapid",
	"github.com/rogpeppe/go-internal/...", "github.com/creack/pty",
}

const (
	pureReason   = "these packages are pure, without I/O, clock, randomness or goroutine, so that replay repeats exactly"
	sdkReason    = "third parties import only plugin-sdk and depend on all that it imports"
	pluginReason = "our plugins use only plugin-sdk, as third parties do, and reach the kernel over a socket"
)

// Rules is the table of import rules, special ones before general ones.
var Rules = []Rule{
	{Package: "plugin-sdk/failure", Allow: []string{"std"}, Reason: "the pure packages use it, so it imports only the standard library"},
	{Package: "plugin-sdk/redact", Allow: []string{"std"}, Reason: "the kernel and plugins redact texts by the same rules; it handles only texts"},
	{
		Package: "plugin-sdk", Allow: []string{"std", "plugin-sdk/failure"},
		Reason: "the contracts are plain Go: protocol buffers and gRPC stay behind internal/wire",
	},
	{
		Package: "plugin-sdk/plugintest/...", Allow: slices.Concat(wire, forTests),
		Reason: "third-party tests import the conformance suite; " + sdkReason,
	},
	{
		Package: "plugin-sdk/schema", Allow: []string{"std", "plugin-sdk/config", "plugin-sdk/failure", "github.com/santhosh-tekuri/jsonschema/..."},
		Reason: "this package alone of the sdk validates data against a JSON Schema; it reads no file and fetches nothing",
	},
	{
		Package: "plugin-sdk/confine/*_test.go", Allow: slices.Concat(forTests, []string{"golang.org/x/sys/unix", "golang.org/x/net/bpf"}),
		Reason: "the tests run the filter in a virtual machine",
	},
	{
		Package: "plugin-sdk/confine", Allow: []string{"std", "golang.org/x/sys/unix", "golang.org/x/net/bpf"},
		Reason: "this package runs in processes before they are confined: it imports as little as possible",
	},
	{Package: "plugin-sdk/...", Allow: wire, Reason: sdkReason},

	{Package: "kernel/plan", Allow: []string{"std", "plugin-sdk/failure"}, Deny: impure, Reason: pureReason},
	{
		Package: "kernel/event", Allow: []string{"std", "plugin-sdk/failure", "kernel/plan"},
		Deny: impure, Reason: pureReason,
	},
	{
		Package: "kernel/state", Allow: []string{"std", "plugin-sdk/failure", "kernel/plan", "kernel/event"},
		Deny: impure, Reason: pureReason,
	},
	{
		Package: "kernel/progress",
		Allow:   []string{"std", "plugin-sdk/failure", "kernel/plan", "kernel/event", "kernel/state"},
		Deny:    impure, Reason: pureReason,
	},
	{
		Package: "kernel/schedule",
		Allow:   []string{"std", "plugin-sdk/failure", "kernel/plan", "kernel/event", "kernel/state", "kernel/progress"},
		Deny:    impure, Reason: pureReason,
	},
	{
		Package: "kernel/pluginhost/...", Allow: slices.Concat(wire, kernelInside),
		Reason: "this package alone speaks to plugins; it knows nothing of the packages above, and no plugin by name but the five in environ.go",
	},
	{
		Package: "kernel/condition", Allow: []string{"std", "plugin-sdk/nearest", "github.com/expr-lang/expr/..."},
		Reason: "this package alone evaluates expressions of files, over six variables: nothing else is in its reach",
	},
	{
		Package: "kernel/schema", Allow: []string{"std", "plugin-sdk/nearest", "github.com/santhosh-tekuri/jsonschema/..."},
		Reason: "this package alone validates data against a JSON Schema; it reads no file and fetches nothing",
	},
	{
		Package: "kernel/yamldoc", Allow: []string{"std", "gopkg.in/yaml.v3"},
		Reason: "this package alone reads YAML, and engine/internal/yamlwrite alone writes it",
	},
	{
		Package: "kernel/...", Allow: kernelInside,
		Reason: "the kernel decides and remembers: it knows no engine, plugin, screen or network client",
	},
	{
		Package: "engine/internal/contextstrategy/tokens.go", Allow: []string{"std", "github.com/tiktoken-go/tokenizer/codec"},
		Reason: "this file alone counts tokens, by vocabularies in the binary: it reads no file and fetches nothing",
	},
	{
		Package: "engine/internal/sandbox/*_test.go", Allow: slices.Concat(engineInside, forTests),
		Reason: "the tests start confined plugins as the kernel does",
	},
	{
		Package: "engine/internal/sandbox",
		Allow:   []string{"std", "plugin-sdk/confine", "plugin-sdk/failure", "kernel/sandboxpolicy", "golang.org/x/sys/unix"},
		Reason:  "this package decides what a process may do: it imports as little as possible",
	},
	{
		Package: "engine/internal/yamlwrite", Allow: []string{"std", "kernel/yamldoc", "gopkg.in/yaml.v3"},
		Reason: "this package alone writes YAML",
	},
	{
		Package: "engine/internal/session", Allow: slices.Concat(engineInside, []string{"engine/inspect", "engine/timeline"}),
		Reason: "it holds sessions for package engine and connects the packages that perform effects",
	},
	{
		Package: "engine/internal/source", Allow: slices.Concat(engineInside, []string{"engine/inspect"}),
		Reason: "it selects a run; the observer of a run receives the updates of package inspect",
	},
	{
		Package: "engine/internal/messages", Allow: slices.Concat(engineInside, []string{"engine/inspect"}),
		Reason: "it sends messages to sessions for package engine, which needs their status and the supervisor",
	},
	{
		Package: "engine/internal/derived", Deny: impure,
		Allow:  []string{"std", "engine/timeline", "kernel/plan", "kernel/event", "kernel/state", "kernel/schedule"},
		Reason: "it is a pure fold of events, so that all readers see the same",
	},
	{
		Package: "engine/internal/testkit", Allow: slices.Concat(engineInside, forTests),
		Reason: "only tests import it",
	},
	{
		Package: "engine/internal/...", Allow: engineInside,
		Reason: "imports point down only: package engine connects these packages, and none of them knows a plugin or a screen",
	},
	{
		Package: "engine/timeline", Allow: []string{"std", "kernel/plan", "kernel/event", "kernel/state"}, Deny: impure,
		Reason: "the timeline is a pure fold of events, so that all its readers see the same",
	},
	{
		Package: "engine/authoring", Allow: engineInside,
		Reason: "it answers questions about files without running a session: it knows no engine and no session",
	},
	{
		Package: "engine/inspect", Allow: slices.Concat(engineInside, []string{"engine/timeline"}),
		Reason: "it answers questions about sessions from their files: it holds no session and starts nothing",
	},
	{
		Package: "engine/enginetest", Allow: []string{"std", "plugin-sdk/...", "engine", "kernel/plan", "kernel/event", "kernel/state"},
		Reason: "tests of other modules import it: it uses the engine as they do, by its public packages",
	},
	{
		Package: "engine/crashtest/*_test.go", Allow: slices.Concat(engineInside, forTests, []string{"engine/crashtest"}),
		Reason: "the tests share the assertions of the engine's tests",
	},
	{
		Package: "engine/crashtest", Allow: []string{"std", "plugin-sdk/failure", "kernel/event", "kernel/state", "kernel/yamldoc", "kernel/pluginhost/process"},
		Reason: "it compares sessions from outside, by their files and their journal; it runs no engine in its own process",
	},
	{
		Package: "engine",
		Allow:   []string{"std", "engine/...", "kernel/...", "plugin-sdk/...", "github.com/hashicorp/go-hclog"},
		Reason:  "the engine connects its own packages; plugins reach it through a socket, the command calls it",
	},

	{
		Package: "plugins/hooks/...",
		Allow:   []string{"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog", "github.com/cenkalti/backoff/v5"},
		Reason:  pluginReason,
	},
	{
		Package: "plugins/acp/...",
		Allow:   []string{"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog", "github.com/coder/acp-go-sdk"},
		Reason:  pluginReason,
	},
	{
		Package: "plugins/agent/...",
		Allow: []string{
			"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog", "github.com/cenkalti/backoff/v5", "github.com/tmaxmax/go-sse", "mvdan.cc/sh/v3/...",
			"github.com/bmatcuk/doublestar/v4", "github.com/bluekeyes/go-gitdiff/...", "golang.org/x/text/unicode/norm", "github.com/aymanbagabas/go-udiff/...",
		},
		Reason: pluginReason,
	},
	{
		Package: "plugins/*/...", Allow: []string{"std", "plugin-sdk/...", "github.com/hashicorp/go-hclog"},
		Reason: pluginReason,
	},
	{
		Package: "cmd/agent-pipelines/bundled.go", Allow: []string{"std", "cmd/agent-pipelines/internal/cli", "plugins/..."},
		Reason: "this file only serves the bundled plugins, each in its own process",
	},
	{
		Package: "cmd/agent-pipelines/internal/mcpserve",
		Allow: []string{
			"std", "engine", "engine/authoring", "kernel/event", "kernel/state", "cmd/agent-pipelines/internal/...", "github.com/modelcontextprotocol/go-sdk/jsonrpc", "github.com/modelcontextprotocol/go-sdk/mcp",
		},
		Reason: "this package exposes the command and the engine; it knows no plugin and has no own rules for pipelines",
	},
	{
		Package: "cmd/agent-pipelines/mcp_test.go", Allow: slices.Concat(forTests, []string{"cmd/agent-pipelines/internal/mcpserve", "github.com/modelcontextprotocol/go-sdk/mcp"}),
		Reason: "the test is a client of the real command",
	},
	{
		Package: "cmd/agent-pipelines/tracecheck_test.go", Allow: slices.Concat(forTests, []string{"std", "kernel/event", "go.opentelemetry.io/proto/otlp/trace/v1"}),
		Reason: "the check compares received spans with a journal",
	},
	{
		Package: "cmd/agent-pipelines/internal/trace", Allow: []string{"std", "kernel/event", "kernel/state", "kernel/plan", "go.opentelemetry.io/otel/attribute"},
		Reason: "spans are a fold of events; another package sends them",
	},
	{
		Package: "cmd/agent-pipelines/internal/telemetry",
		Allow: []string{
			"std", "cmd/agent-pipelines/internal/trace", "cmd/agent-pipelines/testdata/collector", "engine", "engine/timeline", "kernel/event", "kernel/plan", "kernel/state", "plugin-sdk/redact", "go.opentelemetry.io/otel/...", "go.opentelemetry.io/otel", "github.com/go-logr/logr",
		},
		Reason: "only this package sends telemetry, and imports the SDK and its exporters",
	},
	{
		Package: "cmd/agent-pipelines/internal/install",
		Allow:   []string{"std", "kernel/pluginhost", "kernel/pluginhost/catalog", "plugin-sdk", "plugin-sdk/failure"},
		Reason:  "the command alone installs plugins, into the directories that the kernel searches",
	},
	{
		Package: "cmd/agent-pipelines/internal/exposition",
		Allow: []string{
			"std", "engine", "engine/timeline", "kernel/event", "kernel/plan", "github.com/prometheus/client_model/go", "github.com/prometheus/common/expfmt", "github.com/prometheus/common/model",
		},
		Reason: "only this package writes the text format of Prometheus",
	},
	{
		Package: "cmd/agent-pipelines/internal/watching", Allow: slices.Concat(commandInside, []string{"cmd/agent-pipelines/internal/...", "charm.land/bubbletea/v2"}),
		Reason: "only this package uses the whole screen",
	},
	{
		Package: "cmd/agent-pipelines/...", Allow: commandInside,
		Reason: "the command turns flags into calls of the engine; only bundled.go knows the plugins",
	},

	{
		Package: "test/...",
		Allow: []string{
			"std", "others", "plugin-sdk/...", "engine", "kernel/plan", "kernel/event", "kernel/state", "kernel/schedule", "engine/crashtest",
		},
		Reason: "end-to-end tests use only the binary, its files and the public packages",
	},
	{
		Package: "bench/...", Allow: []string{"std", "others", "plugin-sdk/...", "engine", "kernel/event"},
		Reason: "benchmarks measure the command, its files and the public packages",
	},
	{Package: "examples/...", Allow: []string{"std"}, Reason: "the examples are projects of users, for agents to work on"},
	{Package: "tools/...", Allow: []string{"std", "others"}, Reason: "tools check the product and are not part of it"},
}
