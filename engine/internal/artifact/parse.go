package artifact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// maxValues limits the values of an artifact in JSON. YAML has the lower limit of package yamldoc, because its parser
// is far slower and expands aliases.
const maxValues = 4_000_000

// The members of the envelope. The engine writes them. Of an agent's envelope it reads only the version.
const (
	metaKey     = "_artifact_meta"
	metadataKey = "_metadata"
)

// parseObject decodes an artifact, YAML or JSON, with or without an envelope.
func parseObject(text []byte, limit int64) (map[string]any, []schema.Fault) {
	if int64(len(text)) > limit {
		return nil, tooLarge(limit)
	}
	value, faults := decodeText(text)
	if len(faults) > 0 {
		return nil, faults
	}
	data, isMap := value.(map[string]any)
	if !isMap {
		return nil, []schema.Fault{{Path: "$", Code: schema.CodeType, Message: "must be an object, not " + kindName(value)}}
	}
	return data, nil
}

// stripEnvelope removes the envelope from data and returns data.
func stripEnvelope(data map[string]any) map[string]any {
	delete(data, metaKey)
	delete(data, metadataKey)
	return data
}

func decodeText(text []byte) (any, []schema.Fault) {
	if json.Valid(text) {
		return parseJSON(text)
	}
	tree, faults := yamldoc.ParseData(text)
	if len(faults) > 0 {
		f := faults[0]
		return nil, syntaxFault("line %d, column %d: %s", f.Line, f.Column, f.Message)
	}
	if tree == nil {
		return nil, syntaxFault("it is empty")
	}
	return tree.Any(), nil
}

func syntaxFault(format string, args ...any) []schema.Fault {
	return []schema.Fault{{Path: "$", Code: schema.CodeSyntax, Message: "is neither YAML nor JSON that can be read: " + fmt.Sprintf(format, args...)}}
}

// tooLarge returns the fault of an artifact above the size limit of its contract.
func tooLarge(limit int64) []schema.Fault {
	return []schema.Fault{{Path: "$", Code: schema.CodeLength, Message: fmt.Sprintf("must have at most %d bytes (max_bytes of the artifact), has more", limit)}}
}

// errTooLarge means that JSON exceeds a limit.
var errTooLarge = errors.New("too much")

// parseJSON decodes JSON with the same number types as YAML.
func parseJSON(text []byte) (any, []schema.Fault) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return nil, syntaxFault("%v", err)
	}
	values := 0
	v, err := normalizeNumbers(v, &values, 0)
	if err != nil {
		return nil, syntaxFault("%v", err)
	}
	return v, nil
}

// normalizeNumbers turns numbers into int if they are whole and fit, else into float64.
func normalizeNumbers(v any, values *int, depth int) (any, error) {
	if *values++; *values > maxValues || depth > yamldoc.MaxDepth {
		return nil, fmt.Errorf("%w: at most %d values, %d levels deep, are read", errTooLarge, maxValues, yamldoc.MaxDepth)
	}
	switch v := v.(type) {
	case json.Number:
		return parseNumber(v)
	case []any:
		for i := range v {
			item, err := normalizeNumbers(v[i], values, depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key := range v {
			item, err := normalizeNumbers(v[key], values, depth+1)
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	}
	return v, nil
}

func parseNumber(n json.Number) (any, error) {
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("the number %.40s is too large", n)
	}
	return f, nil
}

// kindName returns the kind of a value for messages.
func kindName(v any) string {
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

// maxFaultText bounds the text of all faults, in bytes.
const maxFaultText = 64 << 10

// faultLines renders faults, one per line.
func faultLines(faults []schema.Fault) string {
	var b strings.Builder
	for i, f := range faults {
		if b.Len() > maxFaultText {
			fmt.Fprintf(&b, "… and %d more\n", len(faults)-i)
			break
		}
		b.WriteString(f.String() + "\n")
	}
	return b.String()
}
