package mock

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkWord returns a problem if the value is set and not one of the words.
func checkWord[T ~string](key string, value T, words ...T) []string {
	if value == "" || slices.Contains(words, value) {
		return nil
	}
	known := make([]string, len(words))
	for i, word := range words {
		known[i] = string(word)
	}
	return []string{fmt.Sprintf("%s is %q, want one of %s", key, value, strings.Join(known, ", "))}
}

// configError returns one config_invalid error for all problems, nil for none.
func configError(problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return failure.New(failure.ConfigInvalid, "config: %s", strings.Join(problems, "; "))
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

//go:embed schema/*.json
var schemas embed.FS

// schema returns the JSON Schema of a kind of component. The schemas are embedded, so a missing one is a
// programming error.
func schema(kind string) json.RawMessage {
	text, err := schemas.ReadFile("schema/" + kind + ".json")
	if err != nil {
		panic(err)
	}
	return text
}
