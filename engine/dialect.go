package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
)

// SchemaBase is where the schemas without plugins are published, each as <file>.json.
const SchemaBase = "https://raw.githubusercontent.com/dodo-digital/agent-pipelines/main/docs/schema/"

// DialectFiles are the names of the files that people write: pipeline, stage, config.
func DialectFiles() []string {
	var names []string
	for _, m := range dialect.Files() {
		names = append(names, m.Name)
	}
	return names
}

// DialectSchema is the JSON Schema (draft 2020-12) of one of [DialectFiles], for editors. It is indented and ends a line. It
// takes each document that the kernel takes, and refuses what the kernel refuses as a type, a word, a bound or a missing
// key; what other files, names and plugins say it does not know. Another name is [ErrOptions].
func DialectSchema(file string) ([]byte, error) {
	m, err := dialectFile(file)
	if err != nil {
		return nil, err
	}
	return m.Schema(SchemaBase + file + ".json")
}

// DialectSchema is the function of that name with what the plugins that were found say of the configuration of their
// components. Plugins that are not remembered are started to describe themselves. leftOut are the names of the components
// whose schema is none.
func (e *Engine) DialectSchema(ctx context.Context, file string) (text []byte, leftOut []string, err error) {
	m, err := dialectFile(file)
	if err != nil {
		return nil, nil, err
	}
	listing, err := e.host.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	found := slices.Clone(listing.Registered)
	for _, p := range listing.Plugins {
		found = append(found, p.Description.Components...)
	}
	seen := map[string]bool{}
	found = slices.DeleteFunc(found, func(c sdk.Component) bool {
		of := fmt.Sprint(c.Kind, " ", c.Name)
		if seen[of] || len(c.ConfigSchema) == 0 {
			return true
		}
		seen[of] = true
		_, err := schema.Compile(c.ConfigSchema)
		if err != nil {
			leftOut = append(leftOut, c.Name)
		}
		return err != nil
	})
	text, err = m.SchemaWith(found)
	return text, leftOut, err
}

func dialectFile(name string) (*dialect.Object, error) {
	for _, m := range dialect.Files() {
		if m.Name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("%w: there is no schema of %q (there is %s)", ErrOptions, name, strings.Join(DialectFiles(), ", "))
}
