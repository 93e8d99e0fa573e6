package compile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

var (
	// What a node or stage that wraps something cannot have: work of its own, and iterations.
	notBesideWraps     = []string{"prompt", "parallel", "pipeline", "steps"}
	notIterated        = []string{"termination", "completion", "consensus", "min_iterations", "check_before"}
	notOnWraps         = []string{"provider", "model", "context", "delay"}
	notOnWrappedPlan   = []string{"checks"}
	noEffectOnArtifact = []string{"from", "heal"}
	// envelope are the members of a file of an artifact that are no fields.
	envelope = []string{"_artifact_meta", "_metadata"}
)

// wraps is what a node or its stage says of what it wraps.
type wraps struct {
	mapping    // its node is nil if nothing is said
	pipeline   string
	pipelineAt place
	run        string
	runAt      place
	dir        StageDir // of the stage that says run
	inputs     map[string]string
	outputs    map[string]string
	defaults   map[string]json.RawMessage
}

// said reports whether there is anything.
func (w wraps) said() bool { return w.node != nil }

// wraps reads the key of a node or stage.
func (m mapping) wraps() wraps {
	inner, ok := m.mapping("wraps")
	if !ok {
		return wraps{}
	}
	inner.what = "wraps of " + m.what
	inner.refuseUnknown(dialect.Wraps.Names())
	w := wraps{mapping: inner}
	var at value
	w.pipeline, at = inner.text("pipeline")
	w.pipelineAt = inner.place(at)
	w.run, at = inner.text("run")
	w.runAt = inner.place(at)
	if w.pipeline != "" && w.run != "" {
		inner.Errorf(inner.key("run"), diagnostic.CodeConflict, "make two nodes of it", "%s has pipeline and run", inner.what)
	}
	w.inputs = inner.renamed("input_mapping", inputField)
	w.outputs = inner.renamed("output_mapping", outputField)
	inner.checkTargets(w.outputs)
	w.defaults = inner.plain("defaults")
	return w
}

// refuseUnknown is [mapping.unknown] for a map in which a slip would change what is handed on.
func (m mapping) refuseUnknown(known []string) {
	for _, e := range m.node.Entries {
		if !slices.Contains(known, e.Key) && !strings.HasPrefix(e.Key, "x-") {
			m.Errorf(e.KeyPos, diagnostic.CodeUnknownKey, didYouMean(e.Key, known), "unknown key %q in %s", e.Key, m.what)
		}
	}
}

// renamed reads a map of names of fields; read says what an entry means, and what is wrong with it.
func (m mapping) renamed(key string, read func(mapping, yamldoc.Entry) string) map[string]string {
	inner, ok := m.mapping(key)
	if !ok {
		return nil
	}
	fields := map[string]string{}
	for _, e := range inner.node.Entries {
		if e.Key == "" {
			inner.Errorf(e.KeyPos, diagnostic.CodeMissing, "name a field", "%s has an entry without a name", key)
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

// inputField is the field that an input comes from, which may be inside another.
func inputField(m mapping, e yamldoc.Entry) string {
	field := trimmed(e.Value.Source)
	if e.Value.Kind == yamldoc.Null || field == "" {
		m.Errorf(e.KeyPos, diagnostic.CodeMissing, fmt.Sprintf("write the field of the artifact that it comes from, such as %s: %[1]s", e.Key), "input %q comes from no field", e.Key)
		return ""
	}
	return field
}

// outputField is the field that an output becomes, "" for one of the same name.
func outputField(m mapping, e yamldoc.Entry) string {
	field := ""
	if e.Value.Kind != yamldoc.Null {
		field = trimmed(e.Value.Source)
	}
	target := cmp.Or(field, e.Key)
	switch {
	case slices.Contains(envelope, target):
		m.Errorf(e.Value.Pos, diagnostic.CodeIdentifier, "choose another name", "output %q cannot become %s, which every artifact has", e.Key, target)
	case strings.Contains(target, "."):
		m.Errorf(e.Value.Pos, diagnostic.CodeIdentifier, fmt.Sprintf("write the name of a field: %s: %s", e.Key, target[strings.LastIndex(target, ".")+1:]), "output %q cannot become %q: a field of an artifact has no dot", e.Key, target)
	}
	return field
}

// checkTargets reports outputs that would become the same field.
func (m mapping) checkTargets(outputs map[string]string) {
	inner, _ := m.quietly("output_mapping")
	taken := map[string]string{}
	for _, theirs := range slices.Sorted(maps.Keys(outputs)) {
		ours := cmp.Or(outputs[theirs], theirs)
		if other, twice := taken[ours]; twice {
			inner.Errorf(inner.key(theirs), diagnostic.CodeRepeated, "give each its own field", "outputs %q and %q both become %s", other, theirs, ours)
		}
		taken[ours] = theirs
	}
}

// plain reads a map of any values.
func (m mapping) plain(key string) map[string]json.RawMessage {
	inner, ok := m.mapping(key)
	if !ok {
		return nil
	}
	values := map[string]json.RawMessage{}
	for _, e := range inner.node.Entries {
		values[e.Key] = e.Value.JSON()
	}
	return values
}

// over lays what a node says over what its stage says: what is wrapped, and each of the maps as a whole.
func (w wraps) over(stage wraps) wraps {
	switch {
	case !stage.said():
		return w
	case !w.said():
		return stage
	}
	merged := stage
	if w.pipeline != "" || w.run != "" {
		merged = w
	}
	merged.mapping = w.mapping
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

// wrapped is what a node, or a stage that stands alone, wraps, with the stage that it names; false where it wraps
// nothing. What is wrong with the name of the stage is said by whoever compiles the node.
func (c *compiler) wrapped(a authored) (w wraps, st *stage, is bool) {
	w = a.wraps()
	if name := a.get("stage", "loop"); name.Node != nil && name.Kind == yamldoc.Text {
		if dir, err := c.FindStage(trimmed(name.Source), c.pipelineDir); err == nil {
			st = c.loaded(dir)
		}
	}
	if st != nil {
		w = w.over(st.wraps)
	}
	return w, st, w.said()
}

// wrap compiles a node that wraps a pipeline or a command. The node is nil, having said why, where there is nothing to
// compile.
func (c *compiler) wrap(a authored, s scope, w wraps, st *stage) (*plan.Node, approval) {
	own := a.settings()
	if st == nil && a.has("stage", "loop") {
		c.stageOf(a) // says what is wrong with it
		return nil, own.approval
	}
	var stage stage
	if st != nil {
		stage = *st
	}
	asks := own.approval.or(stage.approval)
	a.refuseWithWraps(w)
	node := c.wrapping(a, s, w)
	if node == nil {
		return nil, asks
	}
	node.Description = cmp.Or(own.description, stage.description)
	node.Guardrails = cmp.Or(own.guardrails, stage.guardrails)
	node.Wraps = w.plan(c)
	node.Commands, node.Role = stage.commands, stage.role
	a.demands(c.text).over(stage.demands).set(node)
	promised := a.artifact(c.besidePipeline).over(stage.artifact)
	node.Checks = c.checks(a, st)
	promised.checkFields(node.Checks)
	node.Artifact = handed(promised.Artifact)
	if node.Kind == plan.KindStage {
		node.OutputPath, node.Ref = cmp.Or(own.outputPath, stage.outputPath), stage.dir.Name
		c.wrapTexts[node.Wraps] = w.runAt
	}
	return node, asks
}

// wrapping is the node of what is wrapped.
func (c *compiler) wrapping(a authored, s scope, w wraps) *plan.Node {
	switch {
	case w.pipeline != "":
		return c.pipelineNode(a, s, w.pipeline, w.pipelineAt)
	case w.run == "":
		w.Errorf(w.node.Pos, diagnostic.CodeMissing, "add pipeline: <name>, or run: <command>", "%s names neither a pipeline nor a command", w.what)
		return nil
	}
	if _, _, ok := c.Catalog.Provider(plan.ProviderCommand); !ok {
		w.runAt.errorf(diagnostic.CodeProvider, c.missing(sdk.KindProvider, plan.ProviderCommand, c.Catalog.Providers()), "wraps needs the provider %q, which no plugin has", plan.ProviderCommand)
	}
	return &plan.Node{
		ID: a.id, Kind: plan.KindStage, Inputs: a.inputs(s), Policy: a.policy(ofNode), Provider: &plan.Provider{Type: plan.ProviderCommand},
		Termination: plan.Termination{"type": plan.TypeFixed, "max": 1},
	}
}

// plan is what the plan has of it.
func (w wraps) plan(c *compiler) *plan.Wraps {
	p := &plan.Wraps{Run: w.run, Inputs: w.inputs, Outputs: w.outputs, Defaults: w.defaults}
	if w.run != "" && w.dir.Path != "" {
		p.Dir = c.planned(w.dir)
	}
	return p
}

// planned is the folder of a stage as the plan has it. That of a shipped stage is noted for copying.
func (c *compiler) planned(dir StageDir) string {
	if !dir.Library {
		return c.display(dir.Path)
	}
	c.library = append(c.library, dir.Path)
	return filepath.ToSlash(filepath.Join(LibraryDir(c.Session), dir.Path))
}

// handed is the contract of what is handed out, which demands nothing where nothing is said: nobody can be asked for it
// again.
func handed(a *plan.Artifact) *plan.Artifact {
	own := plan.Artifact{}
	if a != nil {
		own = *a
	}
	own.From, own.Heal = "", new(int)
	return &own
}

// refuseWithWraps reports what makes no sense on a node that wraps something.
func (a authored) refuseWithWraps(w wraps) {
	a.refuseKeys(notBesideWraps, "make two nodes of it", "what it wraps is its work")
	a.refuseKeys(notIterated, "let an edge lead back to the node, or repeat inside of what is wrapped", "what it wraps is run once")
	a.idle(notOnWraps, "a node that wraps something", "remove it")
	if w.pipeline != "" {
		a.idle([]string{"output_path"}, "a node that wraps a pipeline", "say it in the pipeline")
		a.refuseKeys(notOnWrappedPlan, "say it in the pipeline, on the node whose work it is", "its work is done by the nodes inside")
	} else {
		a.refuseKeys([]string{"runs"}, "let an edge lead back to the node, or repeat inside of what is wrapped", "what it wraps is run once")
	}
	a.checkHanded(w, "a node that wraps something")
}

// checkHanded reports what makes no sense in the contract of what is handed out; who says it.
func (m mapping) checkHanded(w wraps, who string) {
	inner, ok := m.quietly("artifact")
	if !ok {
		return
	}
	inner.idle(noEffectOnArtifact, who, "remove it")
	if w.pipeline != "" {
		inner.refuseKeys([]string{"verdict"}, "let a node of the pipeline judge, or one behind it", "the pipeline has come to its end by then")
	}
}

// refuseKeys is [mapping.refuse] for several keys.
func (m mapping) refuseKeys(keys []string, hint, why string) {
	for _, key := range keys {
		m.refuse(key, hint, why)
	}
}

// checkWraps reports what makes no sense in a stage.yaml that wraps something.
func (s *stage) checkWraps() {
	w := s.wraps
	if !w.said() {
		return
	}
	s.refuseKeys([]string{"prompt"}, "remove one of the two", "what it wraps is its work")
	s.refuseKeys(slices.Concat(notIterated, []string{"runs"}), "let an edge of a pipeline lead back to it, or repeat inside of what is wrapped", "what it wraps is run once")
	s.idle(notOnWraps, "a stage that wraps something", "remove it")
	s.checkHanded(w, "a stage that wraps something")
	if w.pipeline == "" && w.run == "" {
		w.Errorf(w.node.Pos, diagnostic.CodeMissing, "add pipeline: <name>, or run: <command>", "%s names neither a pipeline nor a command", w.what)
	}
}

// refuseWrapping reports a stage of a parallel block that wraps something, and returns whether it does.
func (c *compiler) refuseWrapping(a authored) bool {
	_, _, is := c.wrapped(a)
	if is {
		at := a.place(a.get("wraps", "stage", "loop"))
		at.errorf(diagnostic.CodeConflict, "make it a node of its own", "%s cannot wrap anything: the block's providers run its stages", a.what)
	}
	return is
}

// wrapAlone is a stage that wraps something, which cannot run alone: it has no input. To those who only look at it, it is
// a node without a pipeline.
func (c *compiler) wrapAlone(s *stage) *plan.Plan {
	if !c.looking {
		s.Errorf(s.key("wraps"), diagnostic.CodeConflict, fmt.Sprintf("write it into a pipeline, nodes: [{id: %s, stage: %[1]s}], and start that", s.dir.Name),
			"stage %q wraps %s, and so does not run alone", s.dir.Name, s.wraps.names())
		return nil
	}
	p := c.head(s.File, s.data)
	a := authored{mapping: s.mapping, noun: "stage", id: s.dir.Name}
	node := c.wrapping(authored{mapping: mapping{s.document, &yamldoc.Node{Kind: yamldoc.Map}, a.what}, id: a.id}, scope{}, s.wraps)
	if node == nil {
		return nil
	}
	node.Path, node.Ref, node.Wraps, node.Artifact = "0", s.dir.Name, s.wraps.plan(c), handed(c.aloneArtifact(s))
	p.Nodes = append(p.Nodes, *node)
	return p
}

// names is what is wrapped, in messages.
func (w wraps) names() string {
	if w.pipeline != "" {
		return fmt.Sprintf("pipeline %q", w.pipeline)
	}
	return "a command"
}

// runsPipeline reports whether the node itself says that it runs a pipeline.
func (a authored) runsPipeline() bool {
	inner, _ := a.quietly("wraps")
	return a.has("pipeline") || inner.node != nil && inner.has("pipeline")
}

// checkPrompts reports a provider that reads no prompts where one has to.
func checkPrompts(provider string, at place) {
	if provider == plan.ProviderCommand {
		at.errorf(diagnostic.CodeProvider, "write wraps: {run: …} on a node, or name another provider", "provider %s runs what a node wraps, and reads no prompt", provider)
	}
}
