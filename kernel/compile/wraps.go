package compile

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

// wraps is the key wraps of a node or its stage.
type wraps struct {
	object     // its node is nil if the key is absent
	pipeline   string
	pipelineAt location
	run        string
	runAt      location
	dir        StageDir // directory of the stage with the command
	inputs     map[string]string
	outputs    map[string]string
	defaults   map[string]json.RawMessage
}

// isSet reports whether the key is present.
func (w wraps) isSet() bool { return w.node != nil }

// wraps reads the key of a node or stage.
func (m object) wraps() wraps {
	inner, ok := m.objectAt("wraps")
	if !ok {
		return wraps{}
	}
	inner.label = "wraps of " + m.label
	inner.refuseUnknown(dialect.Wraps.Names())
	w := wraps{object: inner}
	var at value
	w.pipeline, at = inner.text("pipeline")
	w.pipelineAt = inner.location(at)
	w.run, at = inner.text("run")
	w.runAt = inner.location(at)
	if w.pipeline != "" && w.run != "" {
		inner.Errorf(inner.keyPos("run"), yamldoc.CodeConflict, "make two nodes of it", "%s has pipeline and run", inner.label)
	}
	w.inputs = inner.fieldMap("input_mapping", inputField)
	w.outputs = inner.fieldMap("output_mapping", outputField)
	inner.checkOutputFields(w.outputs)
	w.defaults = inner.rawValues("defaults")
	return w
}

// fieldMap reads a map of field names. read returns the field of an entry and reports its faults.
func (m object) fieldMap(key string, read func(object, yamldoc.Entry) string) map[string]string {
	inner, ok := m.objectAt(key)
	if !ok {
		return nil
	}
	fields := map[string]string{}
	for _, e := range inner.node.Entries {
		if e.Key == "" {
			inner.Errorf(e.KeyPos, yamldoc.CodeMissing, "name a field", "%s has an entry without a name", key)
			continue
		}
		if e.Value.Kind == yamldoc.List || e.Value.Kind == yamldoc.Map {
			inner.wrongItem(e.Value, e.Key, "the name of a field")
			continue
		}
		fields[e.Key] = read(inner, e)
	}
	return fields
}

// inputField returns the field of an input, which may be nested; "" and a fault if there is none.
func inputField(m object, e yamldoc.Entry) string {
	field := trimNewlines(e.Value.Source)
	if e.Value.Kind == yamldoc.Null || field == "" {
		m.Errorf(e.KeyPos, yamldoc.CodeMissing, fmt.Sprintf("write the field of the artifact, such as %s: %[1]s", e.Key), "input %q has no field", e.Key)
		return ""
	}
	return field
}

// outputField returns the field of an output; "" for the output's own name.
func outputField(m object, e yamldoc.Entry) string {
	field := ""
	if e.Value.Kind != yamldoc.Null {
		field = trimNewlines(e.Value.Source)
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
func (m object) checkOutputFields(outputs map[string]string) {
	object, _ := m.peek("output_mapping")
	used := map[string]string{}
	for _, output := range slices.Sorted(maps.Keys(outputs)) {
		field := cmp.Or(outputs[output], output)
		if other, twice := used[field]; twice {
			object.Errorf(object.keyPos(output), yamldoc.CodeRepeated, "give each its own field", "outputs %q and %q both become %s", other, output, field)
		}
		used[field] = output
	}
}

// rawValues reads a map of any values.
func (m object) rawValues(key string) map[string]json.RawMessage {
	inner, ok := m.objectAt(key)
	if !ok {
		return nil
	}
	values := map[string]json.RawMessage{}
	for _, e := range inner.node.Entries {
		values[e.Key] = e.Value.JSON()
	}
	return values
}

// withDefaults returns the wraps of a node with those of its stage as defaults: the wrapped target, and each map
// as a whole.
func (w wraps) withDefaults(stage wraps) wraps {
	switch {
	case !stage.isSet():
		return w
	case !w.isSet():
		return stage
	}
	merged := stage
	if w.pipeline != "" || w.run != "" {
		merged = w
	}
	merged.object = w.object
	if merged.inputs = stage.inputs; w.inputs != nil {
		merged.inputs = w.inputs
	}
	if merged.outputs = stage.outputs; w.outputs != nil {
		merged.outputs = w.outputs
	}
	if merged.defaults = stage.defaults; w.defaults != nil {
		merged.defaults = w.defaults
	}
	return merged
}

// refuseWrapsConflicts reports keys that are not allowed or without effect on a node with wraps.
func (a nodeSource) refuseWrapsConflicts(w wraps) {
	a.refuseKeys(conflictsWithWraps, "make two nodes of it", "the wrapped target is its work")
	a.refuseKeys(iterationKeys, "let an edge lead back to the node, or repeat inside of the wrapped target", "the wrapped target runs once")
	a.warnIgnored(ignoredOnWraps, "a node that wraps something", "remove it")
	if w.pipeline != "" {
		a.warnIgnored([]string{"output_path"}, "a node that wraps a pipeline", "write it in the pipeline")
		a.refuseKeys(conflictsWithWrappedPipeline, "write it in the pipeline, on the node that does the work", "the nodes of the pipeline do the work")
	} else {
		a.refuseKeys([]string{"runs"}, "let an edge lead back to the node, or repeat inside of the wrapped target", "the wrapped target runs once")
	}
	a.checkWrapsArtifact(w, "a node that wraps something")
}

// checkWrapsArtifact reports keys without effect on the artifact of a wraps node. owner names it in messages.
func (m object) checkWrapsArtifact(w wraps, owner string) {
	inner, ok := m.peek("artifact")
	if !ok {
		return
	}
	inner.warnIgnored(ignoredInWrapsArtifact, owner, "remove it")
	if w.pipeline != "" {
		inner.refuseKeys([]string{"verdict"}, "write the verdict on a node of the pipeline, or on a later node", "the pipeline has ended by then")
	}
}

// checkWraps reports keys that are not allowed or without effect in a stage.yaml with wraps.
func (s *stage) checkWraps() {
	w := s.wraps
	if !w.isSet() {
		return
	}
	s.refuseKeys([]string{"prompt"}, "remove one of the two", "the wrapped target is its work")
	s.refuseKeys(slices.Concat(iterationKeys, []string{"runs"}), "let an edge of a pipeline lead back to it, or repeat inside of the wrapped target", "the wrapped target runs once")
	s.warnIgnored(ignoredOnWraps, "a stage that wraps something", "remove it")
	s.checkWrapsArtifact(w, "a stage that wraps something")
	if w.pipeline == "" && w.run == "" {
		w.Errorf(w.node.Pos, yamldoc.CodeMissing, "add pipeline: <name>, or run: <command>", "%s has neither a pipeline nor a command", w.label)
	}
}

// describe names the wrapped target in messages.
func (w wraps) describe() string {
	if w.pipeline != "" {
		return fmt.Sprintf("pipeline %q", w.pipeline)
	}
	return "a command"
}

// runsPipeline reports whether the node's own keys name a pipeline.
func (a nodeSource) runsPipeline() bool {
	inner, _ := a.peek("wraps")
	return a.has("pipeline") || inner.node != nil && inner.has("pipeline")
}
