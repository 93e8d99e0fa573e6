package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

// pluginVerb is what the command starts itself as: one of its plugins (`plugin serve <name>`), or a host.
type pluginVerb struct {
	Serve serveVerb      `cmd:"" help:"Serve a plugin that the command carries; the command starts this itself."`
	Host  pluginHostVerb `cmd:"" help:"Be a host that can be killed; plugins verify starts this itself."`
}

type serveVerb struct {
	Name string   `arg:"" help:"The plugin's name."`
	Args []string `arg:"" optional:"" help:"What the plugin's own binary takes: describe, version, help."`
}

func (v *serveVerb) run(_ context.Context, a *app) error {
	names := make([]string, 0, len(a.bundled))
	for _, b := range a.bundled {
		if b.name == v.Name {
			a.code = exit(serve.Run(b.plugin(thisBuild().Version), v.Args))
			return nil
		}
		names = append(names, b.name)
	}
	return usageError(fmt.Sprintf("the command carries no plugin '%s'", v.Name), "it carries %s", strings.Join(names, ", "))
}
