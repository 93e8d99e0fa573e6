package author

import (
	"context"
	"fmt"
	"io"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// Schema is the verb `schema` with its subcommands print and list.
type Schema struct {
	Print schemaPrintVerb `cmd:"" help:"Print one JSON Schema."`
	List  schemaListVerb  `cmd:"" help:"List the schemas of --json output."`
}

// schemaPrintVerb is the verb `schema print <file> [name]`.
type schemaPrintVerb struct {
	File string `arg:"" name:"file" enum:"pipeline,stage,config,output" help:"pipeline, stage or config; or output, for the documents of --json."`
	Name string `arg:"" optional:"" name:"name" complete:"document" help:"With output: the document's name, such as status; schema list shows all."`
}

// Help returns the text below the usage.
func (*schemaPrintVerb) Help() string {
	return `An editor with a YAML language server completes keys and values, shows their meaning, and underlines faults.
It knows no settings of plugins: plugins info shows those.`
}

// Run implements [cli.Verb].
func (v *schemaPrintVerb) Run(_ context.Context, a *cli.App) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	_, err = a.Stdout.Write(text)
	return err
}

func (v *schemaPrintVerb) text() ([]byte, error) {
	switch {
	case v.File == schemaOutput:
		return v.output()
	case v.Name != "":
		return nil, cli.UsageError(fmt.Sprintf("%s has one schema, and none called '%s'", v.File, v.Name), "`%s schema print %s` prints it", cli.Program, v.File)
	}
	return authoring.DialectSchema(v.File)
}

// schemaOutput is the value of File for the documents of --json.
const schemaOutput = "output"

// output returns the schema of a document of --json.
func (v *schemaPrintVerb) output() ([]byte, error) {
	if v.Name == "" {
		return nil, cli.UsageError("which document?", "`%s schema list` lists them", cli.Program)
	}
	shape, ok := document.Named(v.Name)
	if !ok {
		var names []string
		for _, s := range document.Shapes() {
			names = append(names, s.Name)
		}
		return nil, cli.UsageError(fmt.Sprintf("no document is called '%s'", v.Name), "%s`%s schema list` lists them", cli.DidYouMean(v.Name, names), cli.Program)
	}
	return shape.Schema()
}

// schemaListVerb is the verb `schema list`.
type schemaListVerb struct{}

// Run implements [cli.Verb].
func (*schemaListVerb) Run(_ context.Context, a *cli.App) error {
	all := document.Schemas{}
	for _, s := range document.Shapes() {
		all.Schemas = append(all.Schemas, document.Schema{Name: s.Name, ID: s.ID(), About: s.About, Commands: s.Commands})
	}
	return a.Print(all, func(to io.Writer) {
		table := cli.NewTable(to, "NAME\tSCHEMA\tDESCRIPTION")
		for _, s := range all.Schemas {
			fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, s.ID, s.About)
		}
		table.End()
	})
}
