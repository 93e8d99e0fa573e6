package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Artifacts is the verb `artifacts <session>`.
type Artifacts struct {
	Session string `arg:"" help:"The session: running, paused or ended."`
	Stage   string `placeholder:"NODE" help:"Print the newest artifact of this node, if at most 64 KiB; input names the run's input."`
	Output  string `placeholder:"FILE" help:"With --stage: write the artifact to this file, whatever its size."`
	All     bool   `help:"List all versions, not only the newest of each node."`
}

// shownBytes is the size of the largest artifact that is printed.
const shownBytes = 64 << 10

// Run implements [cli.Verb].
func (v *Artifacts) Run(ctx context.Context, a *cli.App) error {
	switch {
	case v.Output != "" && v.Stage == "":
		return cli.UsageError("--output needs --stage", "%s artifacts %s lists the stages", cli.Program, v.Session)
	case v.All && v.Stage != "":
		return cli.UsageError("--stage shows the newest artifact, and --all lists every version", "leave one of them out: the list names the file of each version")
	}
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		list, err := e.Artifacts(v.Session)
		if err != nil {
			return err
		}
		if v.Stage == "" {
			return v.list(a, e, list)
		}
		chosen, err := ChooseArtifact(v.Session, list, v.Stage)
		if err != nil {
			return err
		}
		return v.show(a, e, chosen)
	})
}

func (v *Artifacts) list(a *cli.App, e *engine.Engine, list []engine.ArtifactInfo) error {
	if !v.All {
		list = slices.DeleteFunc(list, func(i engine.ArtifactInfo) bool { return !i.Latest })
	}
	return a.Print(document.Artifacts{Session: v.Session, Artifacts: append([]engine.ArtifactInfo{}, list...)}, func(to io.Writer) {
		writeArtifacts(to, v.Session, e.WorkDir(), list)
	})
}

// writeArtifacts writes a table of artifacts, and below it their faults.
func writeArtifacts(to io.Writer, session, project string, list []engine.ArtifactInfo) {
	if len(list) == 0 {
		fmt.Fprintf(to, "Session '%s' has no artifacts.\n", session)
		return
	}
	var faults strings.Builder
	table := cli.NewTable(to, "NODE\tTYPE\tVERSION\tVISIT\tVALID\tBYTES\tFILE")
	for _, i := range list {
		valid := "yes"
		switch {
		case i.Problem != "":
			valid = "unreadable"
			fmt.Fprintf(&faults, "%s: %s\n", artifactName(i), screen.Clean(i.Problem))
		case !i.Valid:
			valid = "no"
			for _, f := range i.Faults {
				fmt.Fprintf(&faults, "%s: %s\n", artifactName(i), screen.Clean(fmt.Sprintf("%s: %s %s", f.Path, f.Code, f.Message)))
			}
		}
		visit := "given"
		if i.Visit > 0 {
			visit = fmt.Sprint(i.Visit)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", artifactName(i), cmp.Or(screen.Clean(i.Type), "-"), cmp.Or(screen.Clean(i.Version), "-"), visit, valid, i.Size, cli.RelativePath(project, i.File))
	}
	table.End()
	fmt.Fprint(to, faults.String())
}

// artifactName returns the name of an artifact's node: its id, in a block with the provider, in an embedded pipeline with its
// path.
func artifactName(i engine.ArtifactInfo) string {
	name := screen.Clean(i.Node)
	if i.Provider != "" {
		name += "@" + screen.Clean(i.Provider)
	}
	if strings.Contains(i.Path, ".") && i.Provider == "" || i.Path != "" && i.Node == plan.RequiresStart {
		name += " (" + i.Path + ")"
	}
	return name
}

// ChooseArtifact returns the newest artifact of a node, named by its id or path; in a block, "@" and the provider
// follow. The name "input" is the run's input.
func ChooseArtifact(session string, list []engine.ArtifactInfo, name string) (engine.ArtifactInfo, error) {
	if name == "input" {
		name = plan.RequiresStart
	}
	var found []engine.ArtifactInfo
	var names []string
	for _, i := range list {
		if !i.Latest {
			continue
		}
		names = append(names, i.Node)
		switch name {
		case i.Node, i.Path, i.Node + "@" + i.Provider, i.Path + "@" + i.Provider:
			found = append(found, i)
		}
	}
	if name == plan.RequiresStart && len(found) > 1 { // the input of the whole run is the first
		found = found[:1]
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var stages []string
		for _, i := range found {
			stages = append(stages, strings.TrimSuffix(i.Path+"@"+i.Provider, "@"))
		}
		return engine.ArtifactInfo{}, cli.UsageError(fmt.Sprintf("'%s' names several artifacts", name), "say which one: --stage %s", strings.Join(stages, ", or --stage "))
	}
	return engine.ArtifactInfo{}, cli.UsageError(fmt.Sprintf("session '%s' has no artifact of '%s'", session, name), "%s`%s artifacts %s` lists them", cli.DidYouMean(name, names), cli.Program, session)
}

// show prints an artifact or writes it to a file. It prints only the path of an artifact larger than shownBytes.
func (v *Artifacts) show(a *cli.App, e *engine.Engine, i engine.ArtifactInfo) error {
	if v.Output == "" && i.Size > shownBytes {
		return a.Print(document.Artifact{ArtifactInfo: i}, func(to io.Writer) {
			fmt.Fprintf(to, "The artifact of %s has %d bytes, too many to be printed: %s\n", artifactName(i), i.Size, cli.RelativePath(e.WorkDir(), i.File))
			fmt.Fprintf(to, "%s artifacts %s --stage %s --output FILE writes it to a file.\n", cli.Program, v.Session, v.Stage)
		}, fmt.Sprintf("%s artifacts %s --stage %s --output %s", cli.Program, v.Session, cli.ShellWord(v.Stage), cli.ShellWord(filepath.Base(i.File))))
	}
	content, err := e.ReadArtifact(v.Session, i)
	if err != nil {
		return err
	}
	if v.Output != "" {
		return v.write(a, content)
	}
	return a.Print(document.Artifact{ArtifactInfo: content.ArtifactInfo, Data: content.Data}, func(to io.Writer) {
		cli.WritePrintable(to, strings.TrimRight(string(content.Text), "\n"))
	})
}

func (v *Artifacts) write(a *cli.App, content *engine.ArtifactContent) error {
	if err := os.WriteFile(v.Output, content.Text, 0o644); err != nil {
		return fmt.Errorf("write the artifact: %w", err)
	}
	file, err := filepath.Abs(v.Output)
	if err != nil {
		return err
	}
	return a.Print(document.Artifact{ArtifactInfo: content.ArtifactInfo, Output: file}, func(to io.Writer) {
		fmt.Fprintf(to, "Wrote the artifact of %s, %d bytes, to %s\n", artifactName(content.ArtifactInfo), len(content.Text), v.Output)
	})
}
