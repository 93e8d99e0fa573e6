package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// explainVerb is `explain <code>`.
type explainVerb struct {
	Code string `arg:"" optional:"" help:"A code (AP-YAML-105), the word of an error (provider_timeout) or an exit code (22). Without one, all are listed."`
}

func (v *explainVerb) run(_ context.Context, a *app) error {
	if v.Code == "" {
		return v.list(a)
	}
	e, found := explain.Find(v.Code)
	if !found {
		hint := ""
		if near := nearest.Name(v.Code, explain.Names()); near != "" {
			hint = fmt.Sprintf("did you mean %s? ", near)
		}
		return usageError(fmt.Sprintf("'%s' is no code of an error", v.Code), "%s`%s explain` lists all of them", hint, program)
	}
	if a.JSON {
		a.document(e)
		return nil
	}
	fmt.Fprintf(a.stdout, "%s\n\n%s\n", strings.TrimSuffix(e.Name+": "+e.Title, ": "), e.Text)
	return nil
}

func (v *explainVerb) list(a *app) error {
	all := explain.All()
	if a.JSON {
		a.document(document.Explanations{Explanations: all})
		return nil
	}
	for _, e := range all {
		fmt.Fprintln(a.stdout, strings.TrimRight(fmt.Sprintf("%-20s %s", e.Name, e.Title), " "))
	}
	return nil
}

// versionVerb is `version`.
type versionVerb struct{}

func (versionVerb) run(_ context.Context, a *app) error {
	b := thisBuild()
	if a.JSON {
		a.document(document.Version(b))
		return nil
	}
	_, err := fmt.Fprint(a.stdout, b)
	return err
}
