package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// EntryFlags are what the command line says of where a pipeline is entered and left, what it is given, and after which nodes
// a person is asked.
type EntryFlags struct {
	Start        string   `placeholder:"NODE" group:"Flow:" help:"Begin with this node; --artifact gives what it needs of earlier ones."`
	SkipTo       string   `placeholder:"NODE" group:"Flow:" help:"The same as --start=NODE."`
	ExitAfter    string   `placeholder:"NODE" group:"Flow:" help:"End after this node, as completed: its artifact is what the run delivers."`
	Supervised   bool     `short:"s" group:"Flow:" help:"Ask a person after every node but the last."`
	Iterate      iterated `short:"i" group:"Flow:" help:"Ask a person after the node spec, or after another one, as in --iterate=NODE; with feedback it is done once more. May be given several times."`
	Artifact     []string `sep:"none" placeholder:"NAME=FILE" group:"Flow:" help:"A file, YAML or JSON, that stands for the artifact of the node with this name; where there is none, a field of what the run starts with. May be given several times."`
	FromSpec     string   `placeholder:"FILE|ID" group:"Flow:" help:"A specification that is there already: --start=red --artifact=spec=FILE. Of an ID the file is looked for as specs/ID.yaml, then among the artifacts of sessions, the newest first."`
	DeliveryMode string   `enum:"commit,pr,files,patch," default:"" placeholder:"MODE" group:"Flow:" help:"How the work is delivered: commit, pr, files or patch. Prompts and nodes have it as the field delivery_mode. Default: as the pipeline says."`
}

// iterated are the nodes that --iterate names.
type iterated []string

// The nodes that flags mean that name none.
const (
	nodeSpec = "spec" // --iterate, --from-spec
	nodeRed  = "red"  // --from-spec
	typeSpec = "specification"
)

// IsBool lets the flag stand without a value.
func (*iterated) IsBool() bool { return true }

// Decode reads the value of --iterate=NODE, or none.
func (i *iterated) Decode(ctx *kong.DecodeContext) error {
	node := nodeSpec
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		node = ctx.Scan.Pop().String()
	}
	if node == "" {
		return fmt.Errorf("the node has no name: write --iterate, or --iterate=NODE")
	}
	*i = append(*i, node)
	return nil
}

// fieldDelivery is the field of the artifact that a run starts with that says how its work is delivered.
const fieldDelivery = "delivery_mode"

// Over says the flags in a run's options, behind those of the flow. What --from-spec names is not looked for.
func (f *EntryFlags) Over(o *engine.RunOptions) error {
	if err := f.contradiction(o.Skip); err != nil {
		return err
	}
	o.Start, o.ExitAfter, o.Supervised, o.Iterate = cmp.Or(f.Start, f.SkipTo), f.ExitAfter, f.Supervised, slices.Clone(f.Iterate)
	for _, said := range f.Artifact {
		name, file, _ := strings.Cut(said, "=")
		if name == "" || file == "" {
			return cli.UsageError(fmt.Sprintf("--artifact cannot be '%s'", said), "write a name and a file, as in --artifact spec=specs/login.yaml")
		}
		if other, twice := o.Artifacts[name]; twice {
			return cli.UsageError(fmt.Sprintf("--artifact names %s twice: %s and %s", name, other, file), "leave one of them out")
		}
		if o.Artifacts == nil {
			o.Artifacts = map[string]string{}
		}
		o.Artifacts[name] = file
	}
	if f.FromSpec != "" {
		if _, twice := o.Artifacts[nodeSpec]; twice {
			return cli.UsageError("--from-spec and --artifact both give the artifact of spec", "leave one of them out")
		}
		if o.Artifacts == nil {
			o.Artifacts = map[string]string{}
		}
		o.Start, o.Artifacts[nodeSpec] = nodeRed, f.FromSpec
	}
	if f.DeliveryMode != "" {
		o.Fields = map[string]string{fieldDelivery: f.DeliveryMode}
	}
	return nil
}

// contradiction refuses flags that cannot all be meant.
func (f *EntryFlags) contradiction(skipped []string) error {
	start := cmp.Or(f.Start, f.SkipTo)
	switch {
	case f.SkipTo != "" && f.SkipTo != start:
		return cli.UsageError(fmt.Sprintf("--start=%s and --skip-to=%s contradict each other", f.Start, f.SkipTo), "they mean the same: leave one of them out")
	case f.FromSpec != "" && start != "" && start != nodeRed:
		return cli.UsageError(fmt.Sprintf("--from-spec begins with %s, and --start says %s", nodeRed, start),
			"leave --start out, or begin there with --artifact %s=FILE", nodeSpec)
	}
	if f.FromSpec != "" {
		start = nodeRed
	}
	for _, node := range skipped {
		switch node {
		case start:
			return cli.UsageError(fmt.Sprintf("the run begins with %s, which --skip leaves out", node), "leave one of the flags out")
		case f.ExitAfter:
			return cli.UsageError(fmt.Sprintf("the run ends after %s, which --skip leaves out", node), "leave one of the flags out")
		}
	}
	return nil
}

// Enter says the flags in a run's options, with the file that --from-spec means.
func (f *EntryFlags) Enter(ctx context.Context, a *cli.App, o *engine.RunOptions) error {
	if err := f.Over(o); err != nil || f.FromSpec == "" {
		return err
	}
	return a.Use(ctx, func(e *engine.Engine) error {
		file, err := specFile(e, f.FromSpec)
		o.Artifacts[nodeSpec] = file
		return err
	})
}

// specFile is the file of a specification that is named by its path or its id.
func specFile(e *engine.Engine, said string) (string, error) {
	path := said
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.WorkDir(), path)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return said, nil
	}
	if strings.ContainsRune(said, filepath.Separator) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(said)) {
		return "", cli.UsageError(fmt.Sprintf("there is no file %s", path), "--from-spec takes the path of a specification, or its id")
	}
	file := filepath.Join("specs", said+".yaml")
	if _, err := os.Stat(filepath.Join(e.WorkDir(), file)); err == nil {
		return file, nil
	}
	found, err := specOfSessions(e, said)
	if err != nil || found != "" {
		return found, err
	}
	return "", cli.UsageError(fmt.Sprintf("there is no specification '%s'", said), "looked for %s and %s, and for a specification with this spec_id in the sessions of the project; `%s artifacts <session>` lists what a session has made",
		path, filepath.Join(e.WorkDir(), file), cli.Program)
}

// specOfSessions is the file of the specification that has the id, in the newest session that has one; "" for none. A
// session that cannot be read has none.
func specOfSessions(e *engine.Engine, id string) (string, error) {
	sessions, err := e.Sessions()
	if err != nil {
		return "", err
	}
	for _, s := range sessions {
		list, err := e.Artifacts(s.Session)
		if err != nil {
			continue
		}
		for _, i := range list {
			if !i.Newest || i.Problem != "" || i.Node != nodeSpec && i.Type != typeSpec {
				continue
			}
			if content, err := e.ReadArtifact(s.Session, i); err == nil && content.Data["spec_id"] == id {
				return i.File, nil
			}
		}
	}
	return "", nil
}

// EntryArguments are flags that say the same in another process.
func EntryArguments(o engine.RunOptions) []string {
	var args []string
	for _, flag := range []struct{ name, value string }{
		{"--start", o.Start}, {"--exit-after", o.ExitAfter}, {"--delivery-mode", o.Fields[fieldDelivery]},
	} {
		if flag.value != "" {
			args = append(args, flag.name+"="+flag.value)
		}
	}
	if o.Supervised {
		args = append(args, "--supervised")
	}
	for _, node := range o.Iterate {
		args = append(args, "--iterate="+node)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Artifacts)) {
		args = append(args, "--artifact="+name+"="+o.Artifacts[name])
	}
	return args
}

// Given are the flags that were given.
func (f *EntryFlags) Given() []string {
	return givenOf([]givenFlag{
		{"--start", f.Start != ""},
		{"--skip-to", f.SkipTo != ""},
		{"--exit-after", f.ExitAfter != ""},
		{"--supervised", f.Supervised},
		{"--iterate", len(f.Iterate) > 0},
		{"--artifact", len(f.Artifact) > 0},
		{"--from-spec", f.FromSpec != ""},
		{"--delivery-mode", f.DeliveryMode != ""},
	})
}
