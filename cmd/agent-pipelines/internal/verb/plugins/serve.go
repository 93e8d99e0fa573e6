package plugins

import (
	"context"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// Plugin is what the command starts itself as: one of its plugins (`plugin serve <name>`), or a host.
type Plugin struct {
	Serve serveVerb      `cmd:"" help:"Serve a plugin that the command carries; the command starts this itself."`
	Host  pluginHostVerb `cmd:"" help:"Be a host that can be killed; plugins verify starts this itself."`
}

type serveVerb struct {
	Name string   `arg:"" help:"The plugin's name."`
	Args []string `arg:"" optional:"" help:"What the plugin's own binary takes: describe, version, help."`
}

func (v *serveVerb) Run(_ context.Context, a *cli.App) error {
	names := make([]string, 0, len(a.Bundled))
	for _, b := range a.Bundled {
		if b.Name == v.Name {
			a.Code = cli.Exit(serve.Run(b.Plugin(cli.CurrentBuild().Version), v.Args))
			return nil
		}
		names = append(names, b.Name)
	}
	return cli.UsageError(fmt.Sprintf("the command carries no plugin '%s'", v.Name), "it carries %s", strings.Join(names, ", "))
}
