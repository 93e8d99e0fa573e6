package sources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var (
	// A node or stage with wraps has no other work and no iterations.
	conflictsWithWraps           = []string{"prompt", "parallel", "pipeline", "steps"}
	iterationKeys                = []string{"termination", "completion", "consensus", "min_iterations", "check_before"}
	ignoredOnWraps               = []string{"provider", "model", "context", "delay"}
	conflictsWithWrappedPipeline = []string{"checks"}
	ignoredInWrapsArtifact       = []string{"from", "heal"}
	// envelopeFields are the members of an artifact file that are not fields.
	envelopeFields = []string{"_artifact_meta", "_metadata"}
)

// Wraps is the key wraps of a node or its stage.
type Wraps struct {
	dialect.Map // its node is nil if the key is absent
	Pipeline    string
	PipelineAt  dialect.Location
	Run         string
	RunAt       dialect.Location
	Dir         StageDir // directory of the stage with the command
	Inputs      map[string]string
	Outputs     map[string]string
	Defaults    map[string]json.RawMessage
}

// IsSet reports whether the key is present.
func (w Wraps) IsSet() bool { return w.Node != nil }

// ReadWraps reads the key of a node or stage.
func ReadWraps(m dialect.Map) Wraps {
	inner, ok := m.MapAt("wraps")
	if !ok {
		return Wraps{}
	}
	inner.Label = "wraps of " + m.Label
	inner.CheckKeys(&dialect.Wraps)
	w := Wraps{Map: inner}
	var at dialect.Member
	w.Pipeline, at = inner.Text("pipeline")
	w.PipelineAt = inner.Location(at)
	w.Run, at = inner.Text("run")
	w.RunAt = inner.Location(at)
	if w.Pipeline != "" && w.Run != "" {
		inner.Errorf(inner.KeyPos("run"), yamldoc.CodeConflict, "split it into two nodes", "%s has pipeline and run", inner.Label)
	}
	w.Inputs = readFieldMap(inner, "input_mapping", inputField)
	w.Outputs = readFieldMap(inner, "output_mapping", outputField)
	checkOutputFields(inner, w.Outputs)
	w.Defaults = readRawValues(inner, "defaults")
	return w
}

// readFieldMap reads a map of field names. read returns the field of an entry and reports its faults.
func readFieldMap(m dialect.Map, key string, read func(dialect.Map, yamldoc.Entry) string) map[string]string {
	inner, ok := m.MapAt(key)
	if !ok {
		return nil
	}
	fields := map[string]string{}
	for _, e := range inner.Node.Entries {
		if e.Key == "" {
			inner.Errorf(e.KeyPos, yamldoc.CodeMissing, "name a field", "%s has an entry without a name", key)
			continue
		}
		if e.Value.Kind == yamldoc.List || e.Value.Kind == yamldoc.Map {
			inner.WrongItem(e.Value, e.Key, "the name of a field")
			continue
		}
		fields[e.Key] = read(inner, e)
	}
	return fields
}

// inputField returns the field of an input, which may be nested. It returns "" and reports a fault if there is none.
func inputField(m dialect.Map, e yamldoc.Entry) string {
	field := dialect.TrimNewlines(e.Value.Source)
	if e.Value.Kind == yamldoc.Null || field == "" {
		m.Errorf(e.KeyPos, yamldoc.CodeMissing, fmt.Sprintf("write the field of the artifact, such as %s: %[1]s", e.Key), "input %q has no field", e.Key)
		return ""
	}
	return field
}

// outputField returns the field of an output, or "" if the field has the output's own name.
func outputField(m dialect.Map, e yamldoc.Entry) string {
	field := ""
	if e.Value.Kind != yamldoc.Null {
		field = dialect.TrimNewlines(e.Value.Source)
	}
	target := cmp.Or(field, e.Key)
	switch {
	case slices.Contains(envelopeFields, target):
		m.Errorf(e.Value.Pos, yamldoc.CodeIdentifier, "choose another name", "output %q cannot become %s, which every artifact has", e.Key, target)
	case strings.Contains(target, "."):
		m.Errorf(e.Value.Pos, yamldoc.CodeIdentifier, fmt.Sprintf("write the name of a field: %s: %s", e.Key, target[strings.LastIndex(target, ".")+1:]), "output %q cannot become %q: a field name has no dot", e.Key, target)
	}
	return field
}

// checkOutputFields reports outputs with the same field.
func checkOutputFields(m dialect.Map, outputs map[string]string) {
	object, _ := m.Peek("output_mapping")
	used := map[string]string{}
	for _, output := range slices.Sorted(maps.Keys(outputs)) {
		field := cmp.Or(outputs[output], output)
		if other, twice := used[field]; twice {
			object.Errorf(object.KeyPos(output), yamldoc.CodeRepeated, "give each its own field", "outputs %q and %q both become %s", other, output, field)
		}
		used[field] = output
	}
}

// readRawValues reads a map of any values.
func readRawValues(m dialect.Map, key string) map[string]json.RawMessage {
	inner, ok := m.MapAt(key)
	if !ok {
		return nil
	}
	values := map[string]json.RawMessage{}
	for _, e := range inner.Node.Entries {
		values[e.Key] = e.Value.JSON()
	}
	return values
}

// WithDefaults returns the wraps of a node with those of its stage as defaults: the wrapped target, and each map
// as a whole.
func (w Wraps) WithDefaults(stage Wraps) Wraps {
	switch {
	case !stage.IsSet():
		return w
	case !w.IsSet():
		return stage
	}
	merged := stage
	if w.Pipeline != "" || w.Run != "" {
		merged = w
	}
	merged.Map = w.Map
	if merged.Inputs = stage.Inputs; w.Inputs != nil {
		merged.Inputs = w.Inputs
	}
	if merged.Outputs = stage.Outputs; w.Outputs != nil {
		merged.Outputs = w.Outputs
	}
	if merged.Defaults = stage.Defaults; w.Defaults != nil {
		merged.Defaults = w.Defaults
	}
	return merged
}

// RefuseWrapsConflicts reports keys that are not allowed, or have no effect, on a node with wraps.
func (a Node) RefuseWrapsConflicts(w Wraps) {
	a.RefuseKeys(conflictsWithWraps, "split it into two nodes", "the wrapped target is its work")
	a.RefuseKeys(iterationKeys, "let an edge lead back to the node, or repeat inside of the wrapped target", "the wrapped target runs once")
	a.WarnIgnored(ignoredOnWraps, "a node that wraps something", "remove it")
	if w.Pipeline != "" {
		a.WarnIgnored([]string{"output_path"}, "a node that wraps a pipeline", "write it in the pipeline")
		a.RefuseKeys(conflictsWithWrappedPipeline, "write it in the pipeline, on the node that does the work", "the nodes of the pipeline do the work")
	} else {
		a.RefuseKeys([]string{"runs"}, "let an edge lead back to the node, or repeat inside of the wrapped target", "the wrapped target runs once")
	}
	checkWrapsArtifact(a.Map, w, "a node that wraps something")
}

// checkWrapsArtifact reports keys of an artifact that have no effect with wraps. owner names the node in messages.
func checkWrapsArtifact(m dialect.Map, w Wraps, owner string) {
	inner, ok := m.Peek("artifact")
	if !ok {
		return
	}
	inner.WarnIgnored(ignoredInWrapsArtifact, owner, "remove it")
	if w.Pipeline != "" {
		inner.RefuseKeys([]string{"verdict"}, "write the verdict on a node of the pipeline, or on a later node", "the pipeline has ended by then")
	}
}

// Describe names the wrapped target in messages.
func (w Wraps) Describe() string {
	if w.Pipeline != "" {
		return fmt.Sprintf("pipeline %q", w.Pipeline)
	}
	return "a command"
}

// RunsPipeline reports whether the node's own keys name a pipeline.
func (a Node) RunsPipeline() bool {
	inner, _ := a.Peek("wraps")
	return a.Has("pipeline") || inner.Node != nil && inner.Has("pipeline")
}
