package reference

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// SchemaWith returns [Schema], without an id, with the configuration schemas of plugin components: of a
// provider in config.yaml, of a strategy in termination, of a hook action in hooks, checks and notify. Each schema
// must be a valid JSON Schema.
func SchemaWith(m *dialect.Object, components []sdk.Component) ([]byte, error) {
	file := fileSchema(m, "")
	delete(file, "$id")
	defs, _ := file["$defs"].(schema)
	for _, c := range components {
		if len(c.ConfigSchema) == 0 {
			continue
		}
		w := schemaMerger{file: file, defs: defs, Component: c}
		if err := w.merge(m); err != nil {
			return nil, fmt.Errorf("the configuration schema of %s: %w", c.Name, err)
		}
	}
	return encodeSchema(file)
}

// schemaMerger merges the schema of one component into that of a file.
type schemaMerger struct {
	file, defs schema
	sdk.Component
}

func (w schemaMerger) merge(file *dialect.Object) error {
	names := append([]string{w.Name}, w.Aliases...)
	switch w.Kind {
	case sdk.KindProvider:
		return w.mergeProvider(file, names)
	case sdk.KindTermination:
		return w.mergeWhere(&dialect.Termination, "type", names, "termination_"+w.Name)
	case sdk.KindHookAction:
		if w.Name == plan.ActionCheck {
			if err := w.mergeCheck(); err != nil {
				return err
			}
		}
		if err := w.mergeWhere(&dialect.Hook, "action", names, "hook_action_"+w.Name); err != nil {
			return err
		}
		return w.mergeWhere(&settings.NotifyTable, "action", names, "notify_"+w.Name)
	}
	return nil
}

// mergeProvider adds the schema of a provider's config.
func (w schemaMerger) mergeProvider(file *dialect.Object, names []string) error {
	if file != &settings.ConfigTable {
		return nil
	}
	component, err := w.componentSchema("provider_"+w.Name, nil)
	if err != nil {
		return err
	}
	w.defs["provider_"+w.Name] = component
	properties, _ := w.file["properties"].(schema)
	providers, _ := properties["providers"].(schema)
	known, _ := providers["properties"].(schema)
	if known == nil {
		known = schema{}
	}
	config := schema{"anyOf": []any{schema{"$ref": "#/$defs/provider_" + w.Name}, schema{"type": "null"}}}
	for _, name := range names {
		known[name] = schema{
			"description": w.Summary, "type": []string{"object", "null"}, "$ref": "#/$defs/" + settings.ProviderTable.Name,
			"properties": schema{"config": config},
		}
	}
	providers["properties"] = known
	return nil
}

// mergeWhere adds the schema to a map, for values whose key names the component.
func (w schemaMerger) mergeWhere(m *dialect.Object, key string, names []string, def string) error {
	body, ok := w.defs[m.Name].(schema)
	if !ok {
		return nil
	}
	component, err := w.componentSchema(def, m.Names())
	if err != nil {
		return err
	}
	if w.Kind == sdk.KindTermination {
		delete(component, "required") // a node's map is merged over that of its stage
	}
	w.defs[def] = component
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	addRule(body, schema{"if": withText(key, "(?:"+strings.Join(quoted, "|")+")"), "then": schema{"$ref": "#/$defs/" + def}})
	return nil
}

// mergeCheck adds the schema of the hook action check to checks.
func (w schemaMerger) mergeCheck() error {
	body, ok := w.defs[dialect.Check.Name].(schema)
	if !ok {
		return nil
	}
	component, err := w.componentSchema("check_config", dialect.KernelCheckKeys())
	if err != nil {
		return err
	}
	w.defs["check_config"] = component
	addRule(body, schema{"$ref": "#/$defs/check_config"})
	return nil
}

func addRule(body, rule schema) {
	rules, _ := body["allOf"].([]schema)
	body["allOf"] = append(slices.Clone(rules), rule)
}

// componentSchema returns the component's schema for a name in $defs, with the keys that the kernel reads itself.
func (w schemaMerger) componentSchema(def string, keys []string) (schema, error) {
	var parsed map[string]any
	if err := json.Unmarshal(w.ConfigSchema, &parsed); err != nil {
		return nil, err
	}
	moved, _ := moveRefs(parsed, "#/$defs/"+def).(map[string]any)
	for _, key := range []string{"$schema", "$id"} {
		delete(moved, key)
	}
	if len(keys) == 0 {
		return moved, nil
	}
	properties, _ := moved["properties"].(map[string]any)
	properties = maps.Clone(properties)
	if properties == nil {
		properties = map[string]any{}
	}
	for _, key := range keys {
		properties[key] = true
	}
	moved["properties"] = properties
	if moved["additionalProperties"] == false {
		moved["patternProperties"] = map[string]any{"^x-": true}
	}
	return moved, nil
}

// moveRefs returns the schema with its references below to.
func moveRefs(v any, to string) any {
	switch v := v.(type) {
	case map[string]any:
		moved := make(map[string]any, len(v))
		for key, member := range v {
			if ref, ok := member.(string); ok && key == "$ref" && strings.HasPrefix(ref, "#") {
				moved[key] = to + strings.TrimPrefix(ref, "#")
				continue
			}
			moved[key] = moveRefs(member, to)
		}
		return moved
	case []any:
		moved := make([]any, len(v))
		for i := range v {
			moved[i] = moveRefs(v[i], to)
		}
		return moved
	default:
		return v
	}
}
