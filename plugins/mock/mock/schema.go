package mock

import (
	"embed"
	"encoding/json"
)

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
