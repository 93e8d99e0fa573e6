package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// EntryFlags holds the flags for the first and last node of a pipeline, its input, and the nodes after which it asks the
// user.
type EntryFlags struct {
	Start        string       `xor:"start" placeholder:"NODE" group:"Flow:" help:"Begin with this node; --artifact supplies the artifacts of earlier ones."`
	SkipTo       string       `xor:"start" placeholder:"NODE" group:"Flow:" help:"Same as --start=NODE."`
	ExitAfter    string       `placeholder:"NODE" group:"Flow:" help:"Complete the run after this node and deliver its artifact."`
	Supervised   bool         `short:"s" group:"Flow:" help:"Ask for approval after every node except the last."`
	Iterate      iterateNodes `short:"i" group:"Flow:" help:"Ask for approval after node spec, or with --iterate=NODE after another; feedback repeats the node; repeatable."`
	Artifact     []string     `sep:"none" placeholder:"NAME=FILE" group:"Flow:" help:"Use a YAML or JSON file as the artifact of node NAME, or, without such a node, as a field of the run's input; repeatable."`
	FromSpec     string       `placeholder:"FILE|ID" group:"Flow:" help:"Start from an existing specification: same as --start=red --artifact=spec=FILE. An ID names specs/ID.yaml, or else the newest session's artifact with this spec_id."`
	DeliveryMode string       `enum:"commit,pr,files,patch," default:"" placeholder:"MODE" group:"Flow:" help:"Deliver the work as commit, pr, files or patch, in the field delivery_mode (default: as in the pipeline)."`
}

// EntryNames lists the names of the flags in [EntryFlags].
var EntryNames = []string{"start", "skip-to", "exit-after", "supervised", "iterate", "artifact", "from-spec", "delivery-mode"}

// iterateNodes is the list of the nodes of --iterate.
type iterateNodes []string

// These are the default nodes of flags, and the type of a specification.
const (
	nodeSpec = "spec" // --iterate, --from-spec
	nodeRed  = "red"  // --from-spec
	typeSpec = "specification"
)

// IsBool makes the flag's value optional.
func (*iterateNodes) IsBool() bool { return true }

// Decode reads the optional value of --iterate=NODE.
func (i *iterateNodes) Decode(ctx *kong.DecodeContext) error {
	node := nodeSpec
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		node = ctx.Scan.Pop().String()
	}
	if node == "" {
		return errors.New("empty node name: write --iterate or --iterate=NODE")
	}
	*i = append(*i, node)
	return nil
}

// fieldDelivery is the field of a run's input with the delivery mode.
const fieldDelivery = "delivery_mode"

// Apply adds the flags to a run's options, after those of [FlowFlags]. It does not resolve the file of --from-spec.
func (f *EntryFlags) Apply(o *engine.RunOptions) error {
	if err := f.checkConflicts(o.Skip); err != nil {
		return err
	}
	o.Start, o.ExitAfter, o.Supervised, o.Iterate = cmp.Or(f.Start, f.SkipTo), f.ExitAfter, f.Supervised, slices.Clone(f.Iterate)
	artifacts := f.Artifact
	if f.FromSpec != "" {
		o.Start = nodeRed
		artifacts = append(slices.Clone(artifacts), nodeSpec+"="+f.FromSpec)
	}
	for _, value := range artifacts {
		name, file, _ := strings.Cut(value, "=")
		if name == "" || file == "" {
			return cli.UsageError(fmt.Sprintf("--artifact cannot be '%s'", value), "write a name and a file, as in --artifact spec=specs/login.yaml")
		}
		if other, twice := o.Artifacts[name]; twice {
			return cli.UsageError(fmt.Sprintf("the artifact %s has two files: %s and %s", name, other, file),
				"give one of them; --artifact gives any artifact, --from-spec that of %s", nodeSpec)
		}
		if o.Artifacts == nil {
			o.Artifacts = map[string]string{}
		}
		o.Artifacts[name] = file
	}
	if f.DeliveryMode != "" {
		o.Fields = map[string]string{fieldDelivery: f.DeliveryMode}
	}
	return nil
}

// checkConflicts returns an error for flags that contradict each other.
func (f *EntryFlags) checkConflicts(skipped []string) error {
	start := cmp.Or(f.Start, f.SkipTo)
	if f.FromSpec != "" && start != "" && start != nodeRed {
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

// Resolve adds the flags to a run's options, with the file of --from-spec resolved.
func (f *EntryFlags) Resolve(ctx context.Context, a *cli.App, o *engine.RunOptions) error {
	if err := f.Apply(o); err != nil || f.FromSpec == "" {
		return err
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		file, err := specFile(e, f.FromSpec)
		o.Artifacts[nodeSpec] = file
		return err
	})
}

// specFile returns the file of a specification, given by its path or its id.
func specFile(e *engine.Engine, spec string) (string, error) {
	path := spec
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.WorkDir(), path)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return spec, nil
	}
	if strings.ContainsRune(spec, filepath.Separator) || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(spec)) {
		return "", cli.UsageError(fmt.Sprintf("there is no file %s", path), "--from-spec takes the path of a specification, or its id")
	}
	file := filepath.Join("specs", spec+".yaml")
	if _, err := os.Stat(filepath.Join(e.WorkDir(), file)); err == nil {
		return file, nil
	}
	found, err := findSessionSpec(e, spec)
	if err != nil || found != "" {
		return found, err
	}
	return "", cli.UsageError(fmt.Sprintf("there is no specification '%s'", spec), "looked for %s and %s, and for a specification with this spec_id in the sessions of the project; `%s artifacts <session>` lists the artifacts of a session",
		path, filepath.Join(e.WorkDir(), file), cli.Program)
}

// findSessionSpec returns the file of the specification with an id in the newest session that has such a file; "" for
// none. It ignores unreadable sessions.
func findSessionSpec(e *engine.Engine, id string) (string, error) {
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
			if !i.Latest || i.Problem != "" || i.Node != nodeSpec && i.Type != typeSpec {
				continue
			}
			if content, err := e.ReadArtifact(s.Session, i); err == nil && content.Data["spec_id"] == id {
				return i.File, nil
			}
		}
	}
	return "", nil
}
