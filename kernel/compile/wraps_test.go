package compile_test

import (
	"errors"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// A stage with wraps has no input if it runs alone. A validation accepts it.
func TestWrappingStageAlone(t *testing.T) {
	req := compile.Request{
		Roots:   sources.Roots{Project: t.TempDir(), Library: library(map[string]string{"good": "wraps: {run: cat}\n", "bad": "wraps: {}\n"})},
		Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	}
	_, err := compile.Stage(req, compile.Loop{Stage: "good"})
	var found yamldoc.Diagnostics
	if !errors.As(err, &found) || len(found) != 1 || found[0].String() !=
		`library:stages/good/stage.yaml:1:1: error[AP-YAML-107]: stage "good" wraps a command, and cannot run alone (use it in a pipeline, nodes: [{id: good, stage: good}], and run that)` {
		t.Errorf("%v", err)
	}
	dir := must(req.FindStage("good", ""))
	p, found := compile.CheckStage(req, dir, compile.Loop{Stage: "good"})
	if len(found) > 0 || p == nil || !p.Nodes[0].WrapsCommand() {
		t.Errorf("%+v, %v", p, found)
	}
}
