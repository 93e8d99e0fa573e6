package engine

import "github.com/dodo-digital/agent-pipelines/kernel/pluginhost"

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
