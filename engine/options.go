package engine

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Option configures an engine.
type Option func(*config)

type config struct {
	workDir    string
	engineRoot string
	library    fs.FS
	log        hclog.Logger
	pluginLog  hclog.Logger
	pluginDirs []string
	configDir  string
	cacheDir   string
	executable string
	environ    []string
	version    string
	standIn    string
	fallback   string
	skipDelays bool
	skipHooks  []string
	noNotify   bool
	traces     func(event.TraceID) bool
	providers  []sdk.Provider
	strategies []sdk.Termination
	actions    []sdk.HookAction
	bundled    []Bundled
	bundledOff string
	reattach   string
	// providerConfigs win over the user's config.yaml.
	providerConfigs []settings.Provider
	hookErrors      plan.Fallback
	sandboxHelper   []string
}

// WithWorkDir sets the project that sessions work on and are kept in. Default: the current directory.
func WithWorkDir(dir string) Option { return func(c *config) { c.workDir = dir } }

// WithEngineRoot adds a folder whose scripts/pipelines and scripts/stages are looked through, as
// AGENT_PIPELINES_ROOT does for the command. Default: none.
func WithEngineRoot(dir string) Option { return func(c *config) { c.engineRoot = dir } }

// WithLibrary ships stages with the program, as stages/<name>/stage.yaml with their prompts, and pipelines, as
// pipelines/<name>.yaml. The project's of the same names win. A session keeps copies of the stages that it uses, and
// resumes with them whatever the program ships by then. Default: none.
func WithLibrary(library fs.FS) Option { return func(c *config) { c.library = library } }

// WithLogger sets where the engine and its plugins log. Default: nowhere.
func WithLogger(log hclog.Logger) Option { return func(c *config) { c.log = log } }

// WithPluginLogger sets where the lines are logged that plugins write on stderr, without secrets. Its level decides
// which; plugins are told of it, so that they need not write the others. Default: the engine's logger, named plugin.
func WithPluginLogger(log hclog.Logger) Option { return func(c *config) { c.pluginLog = log } }

// WithReattach uses plugin processes that run already, in a debugger say: text is what `agent-plugin-x debug` prints
// behind AGENT_PIPELINES_REATTACH=. They are not checked, not confined and not ended, and go before plugins of the same
// name. It is for the user's own word alone. Default: none.
func WithReattach(text string) Option { return func(c *config) { c.reattach = text } }

// WithPluginDirs sets directories in which plugins are looked for first. Default: none.
func WithPluginDirs(dirs ...string) Option { return func(c *config) { c.pluginDirs = dirs } }

// WithConfigDir sets the user's directory of config.yaml, plugins, lock and trust. Default:
// $XDG_CONFIG_HOME/agent-pipelines, or ~/.config/agent-pipelines.
func WithConfigDir(dir string) Option { return func(c *config) { c.configDir = dir } }

// WithCacheDir sets where descriptions of plugins are remembered; "-" remembers nothing. Default:
// agent-pipelines in the user's cache directory.
func WithCacheDir(dir string) Option { return func(c *config) { c.cacheDir = dir } }

// WithExecutable sets the program beside which plugins are looked for; "-" looks nowhere. Default: the
// running program.
func WithExecutable(path string) Option { return func(c *config) { c.executable = path } }

// WithEnvironment sets the user's environment, "NAME=value" each. Default: os.Environ().
func WithEnvironment(environ []string) Option { return func(c *config) { c.environ = environ } }

// WithVersion sets the version that sessions record. Default: "unknown".
func WithVersion(version string) Option { return func(c *config) { c.version = version } }

// WithProvider registers a provider of this process, see [Engine.RegisterProvider]; its Describe names it.
// It wins over plugins' providers of the same name.
func WithProvider(p sdk.Provider) Option {
	return func(c *config) { c.providers = append(c.providers, p) }
}

// WithTermination registers a termination strategy of this process; its Describe names it, and pipelines
// ask for it by termination.type. It wins over plugins' strategies of the same name; what holds for
// providers ([Engine.RegisterProvider]) holds for it.
func WithTermination(t sdk.Termination) Option {
	return func(c *config) { c.strategies = append(c.strategies, t) }
}

// WithHookAction registers a hook action of this process; its Describe names it, and hooks ask for it by action, checks
// of nodes by the name check. It wins over plugins' actions of the same name; what holds for providers
// ([Engine.RegisterProvider]) holds for it.
func WithHookAction(a sdk.HookAction) Option {
	return func(c *config) { c.actions = append(c.actions, a) }
}

// WithDefaultProvider names the provider of stages for which nobody names one. Default: none, which
// makes such a stage a fault.
func WithDefaultProvider(name string) Option { return func(c *config) { c.fallback = name } }

// WithHookErrors says how a run goes on after a callback of this program, such as that of OnStageEnd, has panicked.
// Default: continue; the panic is logged and journaled. The hooks of a pipeline say so themselves by on_error.
func WithHookErrors(f plan.Fallback) Option { return func(c *config) { c.hookErrors = f } }

// WithSandboxHelper names the command line of a program that confines itself and then becomes a plugin: this
// program, or agent-pipelines, with an argument by which its main calls [Confine] before anything else. Without
// it no plugin is confined, and a pipeline that asks for a sandbox is refused. Default: none.
func WithSandboxHelper(command ...string) Option {
	return func(c *config) { c.sandboxHelper = command }
}

// WithStandIn lets one provider answer in place of all others, whatever the plan says, and leaves
// the delays between iterations out: for tests of pipelines, and for the mock mode of the Bash
// engine. Commands that nodes wrap are run nevertheless, as checks and hooks are. Default: none.
func WithProviderOverride(provider string) Option {
	return func(c *config) { c.standIn, c.skipDelays = provider, true }
}

// AllHooks stands for the actions of all plugins in [WithoutHooks].
const AllHooks = "all"

// WithoutHooks leaves out what hooks do whose action is one of these, or all with [AllHooks]: they are taken to have
// answered continue, and their plugins are not needed. Checks, pause and confirm are no such actions, nor are the functions
// of the program. For trials of a pipeline that must have no effect elsewhere. Default: none.
func WithoutHooks(actions ...string) Option { return func(c *config) { c.skipHooks = actions } }

// WithoutNotify tells nobody how a session stands, whatever the settings say. Default: they are told.
func WithoutNotify() Option { return func(c *config) { c.noNotify = true } }

// WithoutDelays leaves the delays between iterations out of the sessions that begin in this engine: for tests
// of pipelines. Default: they are kept.
func WithoutDelays() Option { return func(c *config) { c.skipDelays = true } }

// journal are the journal's settings, of which the user's environment may name two (REQUIREMENTS
// U223). A value that is no positive number is as good as none.
func (c *config) journal(log hclog.Logger) journal.Options {
	o := journal.Options{Logger: log}
	for _, entry := range c.environ {
		name, value, _ := strings.Cut(entry, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			continue
		}
		switch name {
		case "AGENT_PIPELINES_EVENT_FLUSH_MS":
			o.FlushInterval = time.Duration(n) * time.Millisecond
		case "AGENT_PIPELINES_EVENT_BUFFER":
			o.Buffer = n
		}
	}
	return o
}

// variable is the value of a variable of the user's environment, "" for none.
func (c *config) variable(name string) (value string) {
	for _, entry := range c.environ {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}

// Bundled is a plugin that the program of this process carries, see [WithBundled].
type Bundled = pluginhost.Bundled

// WithBundled names plugins that this very program serves: the engine starts the program again, with the
// plugin's Args, and speaks with that process as with any plugin. Plugins of the same name that lie in a
// plugin directory win. Default: none.
//
// The program must look at its arguments before it does anything else, and hand over where they are a
// plugin's:
//
//	func main() {
//		if args := os.Args[1:]; len(args) > 1 && args[0] == "serve-plugin" && args[1] == "echo" {
//			os.Exit(serve.Run(echoPlugin(), args[2:]))
//		}
//		engine, err := kernel.NewEngine(kernel.WithBundled(kernel.Bundled{
//			Name: "echo", Args: []string{"serve-plugin", "echo"},
//			Describe: func() (sdk.Description, error) { return serve.Describe(echoPlugin()) },
//		}))
//		...
//
// One that does not is refused in the new process: NewEngine fails there instead of starting the next.
func WithBundled(plugins ...Bundled) Option {
	return func(c *config) { c.bundled = append(c.bundled, plugins...) }
}

// WithoutBundled leaves the plugins of [WithBundled] out. By says what turned them off, for messages:
// it completes the sentence "turned off by ...". Default: they are used.
func WithoutBundled(by string) Option { return func(c *config) { c.bundledOff = by } }

// SourceBundled is the Source of such a plugin in [Plugins].
const SourceBundled = string(pluginhost.FromBundle)

// WithProviderConfig configures a provider, by its name or an alias, with a JSON object. It takes the
// place of the config that files of settings have for it; of two for one provider the later counts.
// The provider checks it before work begins.
func WithProviderConfig(provider string, object json.RawMessage) Option {
	return func(c *config) {
		here := settings.Place{File: "WithProviderConfig"}
		c.providerConfigs = append(c.providerConfigs, settings.Provider{
			Name: provider, Config: slices.Clone(object), At: here, ConfigAt: here,
		})
	}
}

// WithTraces tells the components that are called, by the flag of the trace context that each call carries, whether somebody
// sends the spans of the run to a collector: theirs have a place there. sampled says so of a run's trace; it is called before
// each effect, from any goroutine. Default: nobody does, and the flag says so. The ids are those of the journal either way;
// see [event.SpanOf].
func WithTraces(sampled func(event.TraceID) bool) Option {
	return func(c *config) { c.traces = sampled }
}
