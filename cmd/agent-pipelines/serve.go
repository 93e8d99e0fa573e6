package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
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
	names := make([]string, 0, len(bundled))
	for _, b := range bundled {
		if b.name == v.Name {
			a.code = exit(serve.Run(b.plugin(thisBuild().Version), v.Args))
			return nil
		}
		names = append(names, b.name)
	}
	return usageError(fmt.Sprintf("the command carries no plugin '%s'", v.Name), "it carries %s", strings.Join(names, ", "))
}

// serving are the words that make the command serve a plugin.
func serving(name string) []string { return []string{"plugin", "serve", name} }

// bundledVariable turns the plugins that the command carries on and off, as --no-bundled does.
const bundledVariable = "AGENT_PIPELINES_BUNDLED"

// bundle gives the engine the command's own plugins, unless the flag or the environment says no.
func (a *app) bundle() ([]engine.Option, error) {
	list := make([]engine.Bundled, 0, len(bundled))
	for _, b := range bundled {
		list = append(list, engine.Bundled{
			Name: b.name, Args: serving(b.name),
			Describe: func() (sdk.Description, error) { return serve.Describe(b.plugin(thisBuild().Version)) },
		})
	}
	options := []engine.Option{engine.WithBundled(list...)}
	if a.NoBundled {
		return append(options, engine.WithoutBundled("--no-bundled")), nil
	}
	word := a.getenv(bundledVariable)
	on, err := strconv.ParseBool(word)
	switch {
	case word == "" || on:
		return options, nil
	case err != nil:
		return nil, usageError(fmt.Sprintf("%s is '%s'", bundledVariable, word), "write 0 to turn the command's own plugins off, or 1")
	default:
		return append(options, engine.WithoutBundled(bundledVariable+"="+word)), nil
	}
}
