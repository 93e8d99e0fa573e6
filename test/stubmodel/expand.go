package stubmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// placeholder is {{name}}. In JSON two opening braces in a row only occur inside a string, so it can
// be looked for in a whole turn at once.
var placeholder = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// values are the script's variables and what its captures find in the texts, in the first that has it.
func (p *program) values(texts ...string) map[string]string {
	values := maps.Clone(p.Vars)
	if values == nil {
		values = map[string]string{}
	}
	for name, pattern := range p.captures {
		for _, text := range texts {
			if found := pattern.FindStringSubmatch(text); found != nil {
				values[name] = found[1]
				break
			}
		}
	}
	return values
}

// expand returns the turn with its variables replaced. It fails when one has no value.
func (t Turn) expand(values map[string]string) (Turn, error) {
	t.Expect = nil // checked before, with its values quoted
	text, err := marshal(t)
	if err != nil {
		return Turn{}, fmt.Errorf("expand turn: %w", err)
	}
	expanded, err := replace(string(text), values, jsonEscape)
	if err != nil {
		return Turn{}, err
	}
	var out Turn
	if err := json.Unmarshal([]byte(expanded), &out); err != nil {
		return Turn{}, fmt.Errorf("expand turn: %w", err)
	}
	return out, nil
}

// replace puts the escaped values into the text.
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

// checkNames reports the variables of a value that are not declared.
func checkNames(value any, knows func(string) bool) error {
	text, err := marshal(value)
	if err != nil {
		return err
	}
	var unknown []string
	for _, found := range placeholder.FindAllSubmatch(text, -1) {
		if name := string(found[1]); !knows(name) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if unknown != nil {
		return fmt.Errorf("variable %s is not declared; add it to vars or captures", strings.Join(unknown, ", "))
	}
	return nil
}

// jsonEscape returns the text in the form between the quotes of a JSON string.
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

// mustMarshal is marshal for values that can always be encoded: our own structs, checked scripts.
func mustMarshal(value any) []byte {
	text, err := marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
