package engine

import (
	"encoding/json"
	"io/fs"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
)

// Option configures an engine.
type Option func(*environment.Config)

// WithWorkDir sets the project directory, which also holds the sessions. Default: the current directory.
func WithWorkDir(dir string) Option { return func(c *environment.Config) { c.WorkDir = dir } }

// WithEngineRoot adds a folder whose scripts/pipelines and scripts/stages are searched, as
// AGENT_PIPELINES_ROOT does for the command. Default: none.
func WithEngineRoot(dir string) Option { return func(c *environment.Config) { c.EngineRoot = dir } }

// WithLibrary adds shipped stages, as stages/<name>/stage.yaml with their prompts, and pipelines, as
// pipelines/<name>.yaml. The project's own stages and pipelines of the same name take precedence. A session copies
// the stages that it uses, and resumes with these copies. Default: none.
func WithLibrary(library fs.FS) Option { return func(c *environment.Config) { c.Library = library } }

// WithLogger sets the logger of the engine and its plugins. Default: no logging.
func WithLogger(log hclog.Logger) Option { return func(c *environment.Config) { c.Log = log } }

// WithPluginLogger sets the logger for the lines that plugins write to stderr, with secrets removed. Its
// level is passed to the plugins. Default: the engine's logger, named plugin.
func WithPluginLogger(log hclog.Logger) Option {
	return func(c *environment.Config) { c.PluginLogger = log }
}

// WithReattach uses running plugin processes, for example in a debugger. Text is the output of `agent-plugin-x debug`
// after AGENT_PIPELINES_REATTACH=. These processes are not verified, confined or ended. They take precedence over
// plugins of the same name. Accept the text only from the user. Default: none.
func WithReattach(text string) Option { return func(c *environment.Config) { c.Reattach = text } }

// WithPluginDirs sets directories that are searched for plugins before all others. Default: none.
func WithPluginDirs(dirs ...string) Option {
	return func(c *environment.Config) { c.PluginDirs = dirs }
}

// WithConfigDir sets the user's directory of config.yaml, plugins, lock and trust files. Default:
// $XDG_CONFIG_HOME/agent-pipelines, or ~/.config/agent-pipelines.
func WithConfigDir(dir string) Option { return func(c *environment.Config) { c.ConfigDir = dir } }

// WithCacheDir sets the directory of cached plugin descriptions; "-" disables the cache. Default:
// agent-pipelines in the user's cache directory.
func WithCacheDir(dir string) Option { return func(c *environment.Config) { c.CacheDir = dir } }

// WithExecutable sets the program whose directory is searched for plugins; "-" disables this. Default: the
// running program.
func WithExecutable(path string) Option { return func(c *environment.Config) { c.Executable = path } }

// WithEnvironment sets the user's environment, as "NAME=value" entries. Default: os.Environ().
func WithEnvironment(environ []string) Option {
	return func(c *environment.Config) { c.Environ = environ }
}

// WithProgram sets the program's name in the command lines that the engine writes into files and returns, such as
// "NAME resume fix-login". An option then is a flag. The hints of errors contain a [failure.NextStep] or a
// [failure.Option], which [failure.Render] completes. Default: command lines begin with the verb, options are names.
func WithProgram(name string) Option { return func(c *environment.Config) { c.Program = name } }

// WithVersion sets the version that sessions record. Default: "unknown".
func WithVersion(version string) Option { return func(c *environment.Config) { c.Version = version } }

// WithProvider registers an in-process provider, see [Engine.RegisterProvider]; its name comes from Describe.
// It takes precedence over plugins' providers of the same name.
func WithProvider(p sdk.Provider) Option {
	return func(c *environment.Config) { c.Providers = append(c.Providers, p) }
}

// WithTermination registers an in-process termination strategy. Pipelines select it in termination.type by the name
// that Describe returns. It takes precedence over plugins' strategies; the rules of [Engine.RegisterProvider]
// apply.
func WithTermination(t sdk.Termination) Option {
	return func(c *environment.Config) { c.Strategies = append(c.Strategies, t) }
}

// WithHookAction registers an in-process hook action. Hooks select it in action by the name that Describe returns;
// checks of nodes use the action check. It takes precedence over plugins' actions; the rules of
// [Engine.RegisterProvider] apply.
func WithHookAction(a sdk.HookAction) Option {
	return func(c *environment.Config) { c.Actions = append(c.Actions, a) }
}

// WithDefaultProvider sets the provider of stages that name no provider. Default: none; such a stage is a fault.
func WithDefaultProvider(name string) Option {
	return func(c *environment.Config) { c.DefaultProvider = name }
}

// WithHookErrors sets how a run continues after a callback of this program, such as OnStageEnd's, has
// panicked. Default: continue; the panic is logged and journaled. For the pipeline's own hooks, on_error decides.
func WithHookErrors(f plan.Fallback) Option { return func(c *environment.Config) { c.HookErrors = f } }

// WithSandboxHelper sets the command line of a program that confines itself and then becomes a plugin. Use this
// program or agent-pipelines, with an argument that makes the function main call [Confine] first. Without a helper
// no plugin is confined, and pipelines that require a sandbox are refused. Default: none.
func WithSandboxHelper(command ...string) Option {
	return func(c *environment.Config) { c.SandboxHelper = command }
}

// Confine confines this process and replaces it by a plugin. args are the arguments that the engine appends to the
// command of [WithSandboxHelper]. Confine returns an exit code on failure and after a probe; the caller must exit.
func Confine(args []string) int { return confine.Main(args) }

// ParseSize parses a number of bytes or a size such as 512M, in powers of 1024, for [plan.Sandbox]. Minimum: 16M.
func ParseSize(text string) (int64, error) { return sandboxpolicy.ParseSize(text) }

// WithProviderOverride replaces the provider of every stage, whatever the plan says, and skips the delays
// between iterations. It is for tests of pipelines and for the mock mode of the Bash engine. Commands that
// nodes wrap, checks and hooks still run. Default: none.
func WithProviderOverride(provider string) Option {
	return func(c *environment.Config) { c.ProviderOverride, c.SkipDelays = provider, true }
}

// AllHooks selects the actions of all plugins in [WithoutHooks].
const AllHooks = environment.AllHooks

// WithoutHooks skips the hooks with these actions, or all with [AllHooks]: each counts as answered with
// continue, and its plugin is not needed. Checks, pause, confirm and the program's callbacks still run. It is
// for trial runs without external effects. Default: none.
func WithoutHooks(actions ...string) Option {
	return func(c *environment.Config) { c.SkipHooks = actions }
}

// WithoutNotify disables the notifications of the settings. Default: they are sent.
func WithoutNotify() Option { return func(c *environment.Config) { c.NoNotify = true } }

// WithoutDelays skips the delays between iterations in new sessions, for tests of pipelines. Default: delays
// are kept.
func WithoutDelays() Option { return func(c *environment.Config) { c.SkipDelays = true } }

// Bundled is a plugin built into the running program, see [WithBundled].
type Bundled = pluginhost.Bundled

// WithBundled adds plugins that the running program serves itself: the engine starts the program again with
// the plugin's Args and uses that process like any plugin. Plugins of the same name in a plugin directory take
// precedence. Default: none.
//
// The program must check its arguments first, and serve the plugin that they select:
//
//	func main() {
//		if args := os.Args[1:]; len(args) > 1 && args[0] == "serve-plugin" && args[1] == "echo" {
//			os.Exit(serve.Run(echoPlugin(), args[2:]))
//		}
//		e, err := engine.NewEngine(engine.WithBundled(engine.Bundled{
//			Name: "echo", Args: []string{"serve-plugin", "echo"},
//			Describe: func() (sdk.Description, error) { return serve.Describe(echoPlugin()) },
//		}))
//		...
//
// In a program that does not check its arguments, NewEngine fails in the new process instead of starting another one.
func WithBundled(plugins ...Bundled) Option {
	return func(c *environment.Config) { c.Bundled = append(c.Bundled, plugins...) }
}

// WithoutBundled disables the plugins of [WithBundled]. By names the reason in messages: it completes "turned
// off by ...". Default: they are enabled.
func WithoutBundled(by string) Option { return func(c *environment.Config) { c.BundledOff = by } }

// WithProviderConfig sets the configuration of a provider, given by name or alias, to a JSON object. It
// replaces the config of the settings files; for one provider the last option counts. The provider validates
// it before any work.
func WithProviderConfig(provider string, object json.RawMessage) Option {
	return func(c *environment.Config) {
		here := settings.Place{File: "WithProviderConfig"}
		c.ProviderConfigs = append(c.ProviderConfigs, settings.Provider{
			Name: provider, Config: slices.Clone(object), At: here, ConfigAt: here,
		})
	}
}

// WithTraces sets the sampled flag of the trace context that every component call carries. sampled reports
// whether the spans of a run's trace are collected; it is called before each effect, from any goroutine.
// Default: not sampled. The ids are always those of the journal; see [event.KeySpanID].
func WithTraces(sampled func(event.TraceID) bool) Option {
	return func(c *environment.Config) { c.Traces = sampled }
}
