package sources

import (
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

var (
	// checkReference matches the source of a kernel field: checks.<id>.<value>. checkValues are the possible values.
	checkReference = regexp.MustCompile(`^checks\.([A-Za-z0-9._-]+)\.([a-z_]+)$`)
	checkValues    = append([]string{"changed", "changed_code", "changed_tests", "counts", "exit_code", "failed", "ok", "output", "passed", "reason", "total"}, plan.DeliveryFields...)
)

// Artifact is the artifact contract of a node or of its stage.
type Artifact struct {
	*plan.Artifact              // nil if absent
	KernelFieldsMap dialect.Map // the map under kernel_fields, to report its faults
}

// FileReader reads a file relative to the file that names it. shown is the display name of the file; problem is "" or
// the reason why the file cannot be read.
type FileReader func(name string) (data []byte, shown, problem string)

// ReadArtifact reads the contract of an artifact. readFile reads the schema file that the contract names.
func ReadArtifact(m dialect.Map, readFile FileReader) Artifact {
	a := &plan.Artifact{}
	inner, ok := m.DecodeAt("artifact", &dialect.Artifact, a)
	if !ok {
		return Artifact{}
	}
	if len(inner.Node.Entries) == 0 {
		inner.Errorf(inner.Node.Pos, yamldoc.CodeMissing, "add type: or schema:, or remove the key", "artifact in %s is empty", m.Label)
	}
	a.From, a.Schema, a.MaxBytes = readArtifactSource(inner), readSchema(inner, readFile), readMaxBytes(inner)
	fields, _ := inner.Peek("kernel_fields")
	return Artifact{a, fields}
}

// readSchema returns the JSON Schema in the map or in the named file. It returns nil if the schema is absent or
// invalid, and reports the faults.
func readSchema(m dialect.Map, readFile FileReader) json.RawMessage {
	v := m.Get("schema")
	d, root := m.Document, v.Node
	switch {
	case v.Node == nil:
		return nil
	case v.Kind == yamldoc.Text:
		data, shown, problem := readFile(dialect.TrimNewlines(v.Source))
		if problem != "" {
			m.Errorf(v.Pos, yamldoc.CodeSchema, "the path is relative to the directory of this file", "schema %q: %s", dialect.TrimNewlines(v.Source), problem)
			return nil
		}
		d.File = shown
		if root, _ = d.Parse(data); root == nil {
			m.Errorf(v.Pos, yamldoc.CodeSchema, "", "schema %q is empty", dialect.TrimNewlines(v.Source))
			return nil
		}
	case v.Kind != yamldoc.Map && v.Kind != yamldoc.Bool:
		m.WrongType(v, "a JSON Schema, or the path of one")
		return nil
	}
	raw := root.JSON()
	_, err := schema.Compile(raw)
	var problems schema.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			d.Errorf(locate(root, p.Path), yamldoc.CodeSchema, p.Hint, "schema: %s", p)
		}
		return nil
	}
	return raw
}

// locate returns the position of a nested value, or of its key if the value is a member of a map.
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

// WithDefaults returns the contract of a node with that of its stage as default, member by member.
func (a Artifact) WithDefaults(stage Artifact) Artifact {
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
	result := Artifact{&merged, stage.KernelFieldsMap}
	if a.KernelFields != nil {
		merged.KernelFields, result.KernelFieldsMap = a.KernelFields, a.KernelFieldsMap
	}
	return result
}

// CheckKernelFields reports kernel fields with an unknown check or value.
func (a Artifact) CheckKernelFields(checks []plan.Check) {
	if a.Artifact == nil || a.KernelFieldsMap.Node == nil {
		return
	}
	var ids []string
	for _, c := range checks {
		ids = append(ids, c.ID)
	}
	for _, e := range a.KernelFieldsMap.Node.Entries {
		source, at := dialect.TrimNewlines(e.Value.Source), e.Value.Pos
		parts := checkReference.FindStringSubmatch(source)
		switch {
		case e.Value.Kind == yamldoc.List || e.Value.Kind == yamldoc.Map: // already reported
		case parts == nil:
			a.KernelFieldsMap.Errorf(at, yamldoc.CodeCheck, "write checks.<id of a check>."+dialect.JoinOr(checkValues), "%q is not a value of a check", source)
		case !slices.Contains(ids, parts[1]):
			a.KernelFieldsMap.Errorf(at, yamldoc.CodeCheck, dialect.DidYouMean(parts[1], ids), "kernel_fields names unknown check %q", parts[1])
		case !slices.Contains(checkValues, parts[2]):
			a.KernelFieldsMap.Errorf(at, yamldoc.CodeCheck, dialect.DidYouMean(parts[2], checkValues), "a check has no %q", parts[2])
		}
	}
}
