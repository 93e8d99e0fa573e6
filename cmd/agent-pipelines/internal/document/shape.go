package document

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/compare"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/graph"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/install"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify"
)

// Shape is a kind of document.
type Shape struct {
	// Name is short: "status". Version counts from 1. It increases when a field is removed or gets another meaning, not
	// when a field is added.
	Name    string
	Version int
	// About describes the document in a few words. Commands names the verbs that print it, as typed: "config
	// get".
	About    string
	Commands []string

	value reflect.Type
}

// ID returns the value of "schema": "agent-pipelines.status/v1".
func (s Shape) ID() string { return fmt.Sprintf("agent-pipelines.%s/v%d", s.Name, s.Version) }

// Bare reports whether the documents have neither "schema" nor "next_commands". It is true for events, which are lines of
// the journal.
func (s Shape) Bare() bool { return s.value == reflect.TypeFor[event.Line]() }

// Several shapes name these verbs.
var (
	running = []string{"<stage>", "loop", "pipeline", "start", "design", "implement", "fix", "resume", "review", "approve", "reject", "answer"}
	every   = []string{"every verb"}
)

// Shapes returns all shapes, sorted by name.
func Shapes() []Shape {
	return slices.Clone(shapes)
}

var shapes = []Shape{
	shape[Artifact]("artifact", "one artifact of a session", "artifacts"),
	shape[Artifacts]("artifacts", "the artifacts of a session", "artifacts"),
	shape[Completion]("completion", "a shell's script for completion", "completion"),
	shape[crashtest.Report]("crashtest", "the results of killed runs", "crashtest"),
	shape[compare.Comparison]("diff", "the differences between two sessions", "diff"),
	shape[Diagnosis]("doctor", "whether runs can start", "doctor"),
	shape[DryRun]("dry-run", "the preview of a run", "dry-run"),
	shape[Error]("error", "the error of a verb: its kind, cause and hint", every...),
	shape[event.Line]("event", "one event of a session, as in its journal", slices.Concat(running, []string{"attach", "tail"})...),
	shape[Examples]("examples", "the examples of the gallery", "init"),
	shape[explain.Entry]("explanation", "the meaning of a code", "explain"),
	shape[Explanations]("explanations", "the meanings of all codes", "explain"),
	shape[Export]("export", "the archive that was written", "export"),
	shape[graph.Graph]("graph", "the nodes and edges of a pipeline", "graph"),
	shape[Help]("help", "the text that explains a verb or a subject", "help", "every verb with --help"),
	shape[engine.History]("history", "the visits of a session's stages", "session history"),
	shape[Project]("init", "the files that were written, and the next steps", "init"),
	shape[Lint]("lint", "faults and warnings of pipelines, stages and settings", "lint", "stages lint"),
	shape[engine.Metrics]("metrics", "the figures of a session", "metrics session"),
	shape[Pipeline]("pipeline", "the file of a pipeline", "pipelines show"),
	shape[PipelineCopy]("pipeline-copy", "the copy that was written", "pipelines copy"),
	shape[Pipelines]("pipelines", "the available pipelines", "pipelines list"),
	shape[Plugin]("plugin", "the contents of a plugin", "plugins info"),
	shape[install.Installation]("plugin-installed", "the plugin that was installed", "plugins install"),
	shape[pluginhost.LockReport]("plugin-lock", "the digests of plugins", "plugins lock"),
	shape[NewPlugin]("plugin-new", "the module that was written", "plugins new"),
	shape[install.Removal]("plugin-removed", "the plugin that was removed", "plugins remove"),
	shape[verify.Report]("plugin-verify", "how a plugin keeps to the protocol", "plugins verify"),
	shape[Plugins]("plugins", "the available plugins", "plugins list"),
	shape[Questions]("questions", "the questions of sessions", "questions list", "questions show"),
	shape[RemovedSessions]("removed", "the sessions that were removed", "session rm", "session prune"),
	shape[engine.Repair]("repair", "the recovered session and the repair", "repair"),
	shape[Report]("report", "the page that was written", "report"),
	shape[Request]("request", "a request to a session", "pause", "abort"),
	shape[Result]("result", "how a run ended, or why it waits", slices.Concat(running, []string{"attach"})...),
	shape[Schemas]("schemas", "the available schemas", "schema list"),
	shape[Sessions]("sessions", "the sessions of the project", "list"),
	shape[authoring.Setting]("setting", "one setting", "config get"),
	shape[SettingChange]("setting-change", "the setting that was changed", "config set"),
	shape[authoring.Settings]("settings", "the effective settings", "config show"),
	shape[Origins]("settings-origins", "the settings of each file", "config show"),
	shape[authoring.StageDetail]("stage", "one stage", "stages show"),
	shape[NewStage]("stage-new", "the stage that was written", "stages new"),
	shape[Stages]("stages", "the available stages", "stages list"),
	shape[BackgroundSession]("started", "a session that was started in the background, and its process", slices.Concat(running[:9:9])...),
	shape[engine.Status]("status", "where a session is", "status"),
	shape[Reply]("taken", "the result of an answer or feedback", "approve", "reject", "answer", "feedback"),
	shape[Keys]("keys", "the keys that sign messages", "keys show", "keys trust", "keys list", "keys remove"),
	shape[Trust]("trust", "the trusted directories", "trust"),
	shape[engine.Verification]("verification", "whether a journal was changed", "session verify"),
	shape[Version]("version", "the version of the program", "version"),
	shape[why.Explanation]("why", "why a session is where it is", "why"),
}

func shape[T any](name, about string, commands ...string) Shape {
	return Shape{Name: name, Version: 1, About: about, Commands: commands, value: reflect.TypeFor[T]()}
}

// Named returns the shape with a name.
func Named(name string) (Shape, bool) {
	i := slices.IndexFunc(shapes, func(s Shape) bool { return s.Name == name })
	if i < 0 {
		return Shape{}, false
	}
	return shapes[i], true
}

// ShapeFor returns the shape of a value.
func ShapeFor(value any) (Shape, bool) {
	t := reflect.TypeOf(value)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	i := slices.IndexFunc(shapes, func(s Shape) bool { return s.value == t })
	if i < 0 {
		return Shape{}, false
	}
	return shapes[i], true
}
