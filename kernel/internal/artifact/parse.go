package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/yamltree"
)

// MaxBytes bounds an artifact as an agent hands it over.
const MaxBytes = 10 << 20

// The members of the envelope. They are the kernel's: what an agent writes there is left out.
const (
	metaKey     = "_artifact_meta"
	metadataKey = "_metadata"
)

// parse reads an artifact, YAML or JSON. Its faults say what is wrong with a text that is none.
func parse(text []byte) (map[string]any, []schema.Fault) {
	if len(text) > MaxBytes {
		return nil, broken("it has %d bytes, at most %d are read", len(text), MaxBytes)
	}
	value, faults := value(text)
	if len(faults) > 0 {
		return nil, faults
	}
	data, isMap := value.(map[string]any)
	if !isMap {
		return nil, []schema.Fault{{Path: "$", Code: schema.CodeType, Message: "must be an object, not " + word(value)}}
	}
	return stripped(data), nil
}

// stripped is the data without an envelope, the same map where it has none.
func stripped(data map[string]any) map[string]any {
	delete(data, metaKey)
	delete(data, metadataKey)
	return data
}

func value(text []byte) (any, []schema.Fault) {
	if json.Valid(text) {
		return fromJSON(text)
	}
	tree, faults := yamltree.ParseData(text)
	if len(faults) > 0 {
		f := faults[0]
		return nil, broken("line %d, column %d: %s", f.Line, f.Column, f.Message)
	}
	if tree == nil {
		return nil, broken("it is empty")
	}
	return tree.Any(), nil
}

func broken(format string, args ...any) []schema.Fault {
	return []schema.Fault{{Path: "$", Code: schema.CodeSyntax, Message: "is neither YAML nor JSON that can be read: " + fmt.Sprintf(format, args...)}}
}

// errTooMuch says that JSON passes a bound of yamltree's.
var errTooMuch = errors.New("too much")

// fromJSON reads JSON within the same bounds, and with the same numbers, as YAML is read.
func fromJSON(text []byte) (any, []schema.Fault) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return nil, broken("%v", err)
	}
	values := 0
	v, err := plain(v, &values, 0)
	if err != nil {
		return nil, broken("%v", err)
	}
	return v, nil
}

// plain turns numbers into int where they are whole and fit, else into float64.
func plain(v any, values *int, depth int) (any, error) {
	if *values++; *values > yamltree.MaxValues || depth > yamltree.MaxDepth {
		return nil, fmt.Errorf("%w: at most %d values, %d levels deep, are read", errTooMuch, yamltree.MaxValues, yamltree.MaxDepth)
	}
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for i := range v {
			item, err := plain(v[i], values, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key := range v {
			item, err := plain(v[key], values, depth+1)
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	}
	return v, nil
}

func number(n json.Number) (any, error) {
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is too large", n)
	}
	return f, nil
}

// word is the kind of a value in messages.
func word(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}

// lines are faults as an agent and a person read them.
func lines(faults []schema.Fault) string {
	var b strings.Builder
	for _, f := range faults {
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}
