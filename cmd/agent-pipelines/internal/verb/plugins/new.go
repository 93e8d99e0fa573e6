package plugins

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/scaffold"
)

// pluginsNewVerb is the verb `plugins new <kind> <name>`.
type pluginsNewVerb struct {
	Kind   string `arg:"" enum:"provider,termination,hook" help:"The plugin's kind: provider, termination (a strategy) or hook (an action)."`
	Name   string `arg:"" help:"The plugin's name in pipelines: lower case letters, digits, '-' and '_'."`
	Dir    string `type:"path" placeholder:"DIR" help:"Directory to write into (default the plugin's name)."`
	Module string `placeholder:"PATH" help:"Path of the Go module (default example.com/agent-plugin-<name>)."`
	SDK    string `name:"sdk" type:"path" placeholder:"DIR" help:"Use the plugin-sdk of a checkout instead of the published one."`
}

// Run implements [cli.Verb].
func (v *pluginsNewVerb) Run(_ context.Context, a *cli.App) error {
	m := scaffold.Module{Kind: scaffold.Kind(v.Kind), Name: v.Name, Path: v.Module, SDKDir: v.SDK}
	if b := cli.CurrentBuild(); b.Released() {
		m.SDKVersion = "v" + b.Version
	}
	dir := cmp.Or(v.Dir, v.Name)
	files, err := scaffold.Write(dir, m)
	if err != nil {
		return v.explain(err)
	}
	done := document.NewPlugin{Kind: v.Kind, Name: v.Name, SDK: cmp.Or(v.SDK, m.SDKVersion), Files: files}
	if done.Dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	return a.Print(done, func(to io.Writer) {
		fmt.Fprintf(to, "Wrote the %s %s into %s:\n", v.Kind, v.Name, dir)
		for _, file := range files {
			fmt.Fprintf(to, "  %s\n", file)
		}
		next := "make test && make install"
		if done.SDK == "" {
			fmt.Fprintf(to, "This %s is a development build and its SDK is not published, so go.mod requires no SDK yet. In the\n"+
				"command below, replace <checkout> by the path of a checkout. Without `go mod edit`, `make test` uses the newest published SDK.\n", cli.Program)
			next = fmt.Sprintf("go mod edit -require=%[1]s@v0.0.0 -replace=%[1]s=<checkout>/plugin-sdk && %[2]s", scaffold.SDKModule, next)
		}
		fmt.Fprintf(to, "Next: cd %s && %s\n", dir, next)
	})
}

// explain adds a hint to an error of [scaffold.Write].
func (v *pluginsNewVerb) explain(err error) error {
	for fault, hint := range map[error]string{
		scaffold.ErrName:  "choose a name of at most 64 lower case letters, digits, '-' and '_' that begins with a letter or digit",
		scaffold.ErrPath:  "write it as in --module example.com/me/agent-plugin-x",
		scaffold.ErrSDK:   "give the directory plugin-sdk of a checkout of agent-pipelines",
		scaffold.ErrTaken: "nothing is overwritten: remove it, or --dir names another one",
	} {
		if errors.Is(err, fault) {
			return cli.UsageError(err.Error(), "%s", hint)
		}
	}
	return err
}
