package compile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
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

// refuseUnknown reports unknown keys as errors: a typing error would change the data that is passed on.
func (m object) refuseUnknown(known []string) {
	for _, e := range m.node.Entries {
		if !slices.Contains(known, e.Key) && !strings.HasPrefix(e.Key, "x-") {
			m.Errorf(e.KeyPos, yamldoc.CodeUnknownKey, didYouMean(e.Key, known), "unknown key %q in %s", e.Key, m.label)
		}
	}
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
			inner.wrongType(value{e.Value, e.Key}, "the name of a field")
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

// resolveWraps returns the wraps of a node or of a stage alone, with the stage that it names. ok is false without
// wraps. It reports no faults of the stage's name: the compilation of the node does.
func (c *compiler) resolveWraps(a nodeSource) (w wraps, st *stage, ok bool) {
	w = a.wraps()
	if name := a.get("stage", "loop"); name.Node != nil && name.Kind == yamldoc.Text {
		if dir, err := c.FindStage(trimNewlines(name.Source), c.pipelineDir); err == nil {
			st = c.cachedStage(dir)
		}
	}
	if st != nil {
		w = w.withDefaults(st.wraps)
	}
	return w, st, w.isSet()
}

// wrapsNode compiles a node that wraps a pipeline or a command. The node is nil if it has faults; they are
// reported.
func (c *compiler) wrapsNode(a nodeSource, s inputScope, w wraps, st *stage) (*plan.Node, approval) {
	nodeSettings := a.settings()
	if st == nil && a.has("stage", "loop") {
		c.nodeStage(a) // reports the fault
		return nil, nodeSettings.approval
	}
	var stage stage
	if st != nil {
		stage = *st
	}
	approval := nodeSettings.approval.withDefault(stage.approval)
	a.refuseWrapsConflicts(w)
	node := c.wrappedNode(a, s, w)
	if node == nil {
		return nil, approval
	}
	node.Description = cmp.Or(nodeSettings.description, stage.description)
	node.Guardrails = cmp.Or(nodeSettings.guardrails, stage.guardrails)
	node.Wraps = w.toPlan(c)
	node.Commands, node.Role = stage.commands, stage.role
	a.requirements(c.text).withDefaults(stage.requirements).applyTo(node)
	contract := a.artifact(c.readBesidePipeline).withDefaults(stage.artifact)
	node.Checks = c.checks(a, st)
	contract.checkKernelFields(node.Checks)
	node.Artifact = wrapsArtifact(contract.Artifact)
	if node.Kind == plan.KindStage {
		node.OutputPath, node.Ref = cmp.Or(nodeSettings.outputPath, stage.outputPath), stage.dir.Name
		c.wrapsLocations[node.Wraps] = w.runAt
	}
	return node, approval
}

// wrappedNode returns the node of the wrapped target.
func (c *compiler) wrappedNode(a nodeSource, s inputScope, w wraps) *plan.Node {
	switch {
	case w.pipeline != "":
		return c.pipelineNode(a, s, w.pipeline, w.pipelineAt)
	case w.run == "":
		w.Errorf(w.node.Pos, yamldoc.CodeMissing, "add pipeline: <name>, or run: <command>", "%s has neither a pipeline nor a command", w.label)
		return nil
	}
	if _, _, ok := c.Catalog.Provider(plan.ProviderCommand); !ok {
		w.runAt.errorf(yamldoc.CodeProvider, c.missingHint(sdk.KindProvider, plan.ProviderCommand, c.Catalog.Providers()), "wraps needs the provider %q, which no plugin has", plan.ProviderCommand)
	}
	return &plan.Node{
		ID: a.id, Kind: plan.KindStage, Inputs: a.inputs(s), Policy: a.policy(nodePolicy), Provider: &plan.Provider{Type: plan.ProviderCommand},
		Termination: plan.Termination{"type": plan.TypeFixed, "max": 1},
	}
}

// toPlan returns the plan's form of the wraps.
func (w wraps) toPlan(c *compiler) *plan.Wraps {
	p := &plan.Wraps{Run: w.run, Inputs: w.inputs, Outputs: w.outputs, Defaults: w.defaults}
	if w.run != "" && w.dir.Path != "" {
		p.Dir = c.stagePlanDir(w.dir)
	}
	return p
}

// stagePlanDir returns the plan's path of a stage directory. A shipped stage is added to the stages to copy.
func (c *compiler) stagePlanDir(dir StageDir) string {
	if !dir.Library {
		return c.Display(dir.Path)
	}
	c.library = append(c.library, dir.Path)
	return filepath.ToSlash(filepath.Join(LibraryDir(c.Session), dir.Path))
}

// wrapsArtifact returns the contract of a wraps node. It allows no retries, because no agent can be asked again; without a, it
// demands nothing.
func wrapsArtifact(a *plan.Artifact) *plan.Artifact {
	contract := plan.Artifact{}
	if a != nil {
		contract = *a
	}
	contract.From, contract.Heal = "", new(int)
	return &contract
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

// refuseKeys is [object.refuse] for several keys.
func (m object) refuseKeys(keys []string, hint, why string) {
	for _, key := range keys {
		m.refuse(key, hint, why)
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

// refuseWrapping reports a stage of a parallel block with wraps, and returns whether it has one.
func (c *compiler) refuseWrapping(a nodeSource) bool {
	_, _, ok := c.resolveWraps(a)
	if ok {
		at := a.location(a.get("wraps", "stage", "loop"))
		at.errorf(yamldoc.CodeConflict, "make it a node of its own", "%s cannot wrap anything: the block's providers run its stages", a.label)
	}
	return ok
}

// singleStageWraps reports a stage with wraps that runs alone, which would have no input. A validation without a
// run gets a node without a pipeline.
func (c *compiler) singleStageWraps(s *stage) *plan.Plan {
	if !c.validateOnly {
		s.Errorf(s.keyPos("wraps"), yamldoc.CodeConflict, fmt.Sprintf("use it in a pipeline, nodes: [{id: %s, stage: %[1]s}], and run that", s.dir.Name),
			"stage %q wraps %s, and cannot run alone", s.dir.Name, s.wraps.describe())
		return nil
	}
	p := c.newPlan(s.File, s.data)
	a := nodeSource{object: s.object, noun: "stage", id: s.dir.Name}
	node := c.wrappedNode(nodeSource{object: object{s.document, &yamldoc.Node{Kind: yamldoc.Map}, a.label}, id: a.id}, inputScope{}, s.wraps)
	if node == nil {
		return nil
	}
	node.Path, node.Ref, node.Wraps, node.Artifact = "0", s.dir.Name, s.wraps.toPlan(c), wrapsArtifact(c.singleStageArtifact(s))
	p.Nodes = append(p.Nodes, *node)
	return p
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

// refuseCommandProvider reports the provider command, which reads no prompts, where a prompt is needed.
func refuseCommandProvider(provider string, at location) {
	if provider == plan.ProviderCommand {
		at.errorf(yamldoc.CodeProvider, "write wraps: {run: …} on a node, or name another provider", "provider %s runs wrapped commands and reads no prompts", provider)
	}
}
