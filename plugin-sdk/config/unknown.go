package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// unknownKeys compares a decoded JSON tree with the type of into, which will receive it. It returns a
// description of every key without a field, depth first and with the keys of an object sorted.
func unknownKeys(tree, into any) []string {
	var problems []string
	compare("", tree, reflect.TypeOf(into), &problems)
	return problems
}

func compare(path string, tree any, t reflect.Type, problems *[]string) {
	for t.Kind() == reflect.Pointer {
		if readsItself(t) {
			return
		}
		t = t.Elem()
	}
	if readsItself(reflect.PointerTo(t)) {
		return
	}
	switch value := tree.(type) {
	case map[string]any:
		compareObject(path, value, t, problems)
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return
		}
		for i, item := range value {
			compare(fmt.Sprintf("%s[%d]", path, i), item, t.Elem(), problems)
		}
	}
}

func compareObject(path string, object map[string]any, t reflect.Type, problems *[]string) {
	var known map[string]reflect.Type
	if t.Kind() == reflect.Struct {
		known = fields(t)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		switch field, ok := known[key]; {
		case ok:
			compare(join(path, key), object[key], field, problems)
		case t.Kind() == reflect.Struct:
			*problems = append(*problems, describe(path, key, slices.Sorted(maps.Keys(known))))
		case t.Kind() == reflect.Map:
			compare(join(path, key), object[key], t.Elem(), problems)
		}
	}
}

func readsItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fields maps the JSON names of a struct, including those of embedded structs, to the types of its
// fields.
func fields(t reflect.Type) map[string]reflect.Type {
	known := make(map[string]reflect.Type)
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			maps.Copy(known, fields(field.Type))
		case !field.IsExported() || name == "-":
		case name == "":
			known[field.Name] = field.Type
		default:
			known[name] = field.Type
		}
	}
	return known
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func describe(path, key string, known []string) string {
	text := fmt.Sprintf("unknown key %q", key)
	if path != "" {
		text += " in " + path
	}
	if near := nearest.Name(key, known); near != "" {
		return text + fmt.Sprintf(", did you mean %q?", near)
	}
	return text + ", known are " + strings.Join(known, ", ")
}
