package stubmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// placeholder matches {{name}}. JSON has two opening braces in a row only inside a string, so a whole
// turn can be searched as JSON text.
var placeholder = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// replace returns the text with the escaped value for each {{name}}. A name without a value is an error.
func replace(text string, values map[string]string, escape func(string) string) (string, error) {
	var missing []string
	out := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Trim(found, "{}")
		value, ok := values[name]
		if !ok {
			missing = append(missing, name)
		}
		return escape(value)
	})
	if missing != nil {
		return "", fmt.Errorf("no value for %s: the capture did not match the user's text, nor the tool results", strings.Join(missing, ", "))
	}
	return out, nil
}

// jsonEscape returns the text in the form of a JSON string without its quotes.
func jsonEscape(text string) string {
	quoted := mustMarshal(text)
	return string(quoted[1 : len(quoted)-1])
}

// marshal is json.Marshal that leaves <, > and & as they are, so that recorded texts can be read.
func marshal(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}

// mustMarshal is marshal for values that can always be encoded: our own structs, and scripts.
func mustMarshal(value any) []byte {
	text, err := marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
