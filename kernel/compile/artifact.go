package compile

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var (
	// checkReference is where a value comes from that the kernel writes into an artifact; what a check measures is listed
	// behind its id.
	checkReference = regexp.MustCompile(`^checks\.([A-Za-z0-9._-]{1,64})\.([a-z_]+)$`)
	checkValues    = []string{"counts", "exit_code", "failed", "ok", "output", "passed", "reason", "total"}
)

// artifact is what a node or its stage says of the node's artifact.
type artifact struct {
	*plan.Artifact        // nil if nothing is said
	kernelFields   object // kernel_fields, for what is wrong with them
}

// fileReader reads a file beside the one that names it.
type fileReader func(name string) (data []byte, shown, problem string)

// readBesidePipeline is the folder of the pipeline file.
func (c *compiler) readBesidePipeline(name string) (data []byte, shown, problem string) {
	if c.pipelineDir == "" {
		return nil, name, "a shipped pipeline has no files beside it"
	}
	return c.readFrom(c.pipelineDir, name)
}

func (c *compiler) readFrom(dir, name string) (data []byte, shown, problem string) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	data, problem = diagnostic.ReadFile(name)
	return data, c.display(name), problem
}

// stageReader is the folder of a stage.
func (c *compiler) stageReader(dir StageDir) fileReader {
	return func(name string) (data []byte, shown, problem string) {
		if !dir.Library {
			return c.readFrom(dir.Path, name)
		}
		file := path.Join(dir.Path, name)
		if !strings.HasPrefix(file, dir.Path+"/") {
			return nil, libraryPrefix + file, "the file lies outside the stage"
		}
		data, problem = c.readLibrary(file)
		return data, libraryPrefix + file, problem
	}
}

// artifact reads the contract for what is put out. Files that it names lie beside.
func (m object) artifact(beside fileReader) artifact {
	inner, ok := m.objectAt("artifact")
	if !ok {
		return artifact{}
	}
	inner.checkKeys(&dialect.Artifact)
	if len(inner.node.Entries) == 0 {
		inner.Errorf(inner.node.Pos, diagnostic.CodeMissing, "add type: or schema:, or remove the key", "artifact in %s says nothing", m.label)
	}
	a := &plan.Artifact{
		From: inner.artifactSource(), Schema: inner.schema(beside), Verdict: inner.verdict(),
		Carry: inner.fieldNames("carry"), DefaultsFrom: inner.defaultsFrom(), Heal: inner.artifactRetries(), MaxBytes: inner.maxBytes(),
	}
	a.Type, _ = inner.text("type")
	a.Version, _ = inner.text("version")
	a.KernelFields = inner.texts("kernel_fields")
	fields, _ := inner.peek("kernel_fields")
	return artifact{a, fields}
}

// joinOr names words as such.
func joinOr(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// verdict reads which value of a field means which outcome, nil if nothing is said.
func (m object) verdict() *plan.Verdict {
	inner, ok := m.objectAt("verdict")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Verdict)
	v := &plan.Verdict{Field: inner.requiredText("field"), Map: map[string]plan.Outcome{}}
	values, _ := inner.objectAt("map")
	if !inner.has("map") || values.node != nil && len(values.node.Entries) == 0 {
		inner.Errorf(inner.node.Pos, diagnostic.CodeMissing, "say which value means which outcome: map: {pass: success, fail: fail}", "verdict has no map")
	}
	if values.node == nil {
		return v
	}
	for _, e := range values.node.Entries {
		v.Map[e.Key] = readOutcome(values, e)
	}
	return v
}

func readOutcome(m object, e yamldoc.Entry) plan.Outcome {
	word, at := m.text(e.Key)
	outcomes := dialect.Outcomes()
	switch {
	case word == "" && (e.Value.Kind == yamldoc.Null || e.Value.Kind == yamldoc.Text):
		m.Errorf(e.KeyPos, diagnostic.CodeMissing, "write the outcome that it means", "%q means no outcome", e.Key)
	case at.Node != nil && !slices.Contains(outcomes, word):
		m.Errorf(at.Pos, diagnostic.CodeWord, didYouMean(word, outcomes), "%q is no outcome", word)
	}
	return plan.Outcome(word)
}

// schema is the JSON Schema that stands in the map or in a file that it names, nil if there is none or, having said
// why, none that can be used.
func (m object) schema(beside fileReader) json.RawMessage {
	v := m.get("schema")
	d, root := m.document, v.Node
	switch {
	case v.Node == nil:
		return nil
	case v.Kind == yamldoc.Text:
		data, shown, problem := beside(trimNewlines(v.Source))
		if problem != "" {
			m.Errorf(v.Pos, diagnostic.CodeSchema, "the path is taken from the folder of this file", "schema %q: %s", trimNewlines(v.Source), problem)
			return nil
		}
		d.File = shown
		if root, _ = d.Parse(data); root == nil {
			m.Errorf(v.Pos, diagnostic.CodeSchema, "", "schema %q holds none", trimNewlines(v.Source))
			return nil
		}
	case v.Kind != yamldoc.Map && v.Kind != yamldoc.Bool:
		m.wrongType(v, "a JSON Schema, or the path of one")
		return nil
	}
	raw := root.JSON()
	_, err := schema.Compile(raw)
	var problems schema.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			d.Errorf(locate(root, p.Path), diagnostic.CodeSchema, p.Hint, "schema: %s", p)
		}
		return nil
	}
	return raw
}

// locate is the place of a value inside another: of its key, for a member of a map.
func locate(n *yamldoc.Node, tokens []string) yamldoc.Pos {
	at := n.Pos
	for _, token := range tokens {
		if i, err := strconv.Atoi(token); err == nil && n.Kind == yamldoc.List && i >= 0 && i < len(n.Items) {
			n = n.Items[i]
			at = n.Pos
			continue
		}
		i := slices.IndexFunc(n.Entries, func(e yamldoc.Entry) bool { return e.Key == token })
		if i < 0 {
			break
		}
		n, at = n.Entries[i].Value, n.Entries[i].KeyPos
	}
	return at
}

// withDefaults lays what a node says over what its stage says, member by member.
func (a artifact) withDefaults(stage artifact) artifact {
	if a.Artifact == nil || stage.Artifact == nil {
		return cmp.Or(a, stage)
	}
	merged := *stage.Artifact
	merged.Type, merged.Version, merged.From = cmp.Or(a.Type, merged.Type), cmp.Or(a.Version, merged.Version), cmp.Or(a.From, merged.From)
	merged.Verdict, merged.Heal, merged.MaxBytes = cmp.Or(a.Verdict, merged.Verdict), cmp.Or(a.Heal, merged.Heal), cmp.Or(a.MaxBytes, merged.MaxBytes)
	if a.Carry != nil {
		merged.Carry = a.Carry
	}
	if a.DefaultsFrom != nil {
		merged.DefaultsFrom = a.DefaultsFrom
	}
	if a.Schema != nil {
		merged.Schema = a.Schema
	}
	of := artifact{&merged, stage.kernelFields}
	if a.KernelFields != nil {
		merged.KernelFields, of.kernelFields = a.KernelFields, a.kernelFields
	}
	return of
}

// checkKernelFields looks for the checks whose values the kernel writes into the artifact.
func (a artifact) checkKernelFields(checks []plan.Check) {
	if a.Artifact == nil || a.kernelFields.node == nil {
		return
	}
	var ids []string
	for _, c := range checks {
		ids = append(ids, c.ID)
	}
	for _, e := range a.kernelFields.node.Entries {
		source, at := trimNewlines(e.Value.Source), e.Value.Pos
		parts := checkReference.FindStringSubmatch(source)
		switch {
		case e.Value.Kind == yamldoc.List || e.Value.Kind == yamldoc.Map: // already reported
		case parts == nil:
			a.kernelFields.Errorf(at, diagnostic.CodeCheck, "write checks.<id of a check>."+joinOr(checkValues), "%q is nothing that is measured", source)
		case !slices.Contains(ids, parts[1]):
			a.kernelFields.Errorf(at, diagnostic.CodeCheck, didYouMean(parts[1], ids), "kernel_fields name unknown check %q", parts[1])
		case !slices.Contains(checkValues, parts[2]):
			a.kernelFields.Errorf(at, diagnostic.CodeCheck, didYouMean(parts[2], checkValues), "a check has no %q", parts[2])
		}
	}
}
