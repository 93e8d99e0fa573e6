package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// maxValues is how many values an artifact of JSON has at most. Of YAML it is what yamltree takes, which reads far
// slower and expands aliases.
const maxValues = 4_000_000

// The members of the envelope. They are the kernel's: what an agent writes there is left out.
const (
	metaKey     = "_artifact_meta"
	metadataKey = "_metadata"
)

// parse reads an artifact, YAML or JSON, with an envelope if it has one. Its faults say what is wrong with a text that
// is none.
func parse(text []byte, limit int64) (map[string]any, []schema.Fault) {
	if int64(len(text)) > limit {
		return nil, tooLarge(limit)
	}
	value, faults := value(text)
	if len(faults) > 0 {
		return nil, faults
	}
	data, isMap := value.(map[string]any)
	if !isMap {
		return nil, []schema.Fault{{Path: "$", Code: schema.CodeType, Message: "must be an object, not " + word(value)}}
	}
	return data, nil
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
	tree, faults := yamldoc.ParseData(text)
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

// tooLarge is the fault of an artifact that has more bytes than its contract allows.
func tooLarge(limit int64) []schema.Fault {
	return []schema.Fault{{Path: "$", Code: schema.CodeLength, Message: fmt.Sprintf("must have at most %d bytes (max_bytes of the artifact), has more", limit)}}
}

// errTooMuch says that JSON passes a bound.
var errTooMuch = errors.New("too much")

// fromJSON reads JSON with the same numbers as YAML is read.
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
	if *values++; *values > maxValues || depth > yamldoc.MaxDepth {
		return nil, fmt.Errorf("%w: at most %d values, %d levels deep, are read", errTooMuch, maxValues, yamldoc.MaxDepth)
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
