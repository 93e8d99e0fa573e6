package mock

import (
	"embed"
	"encoding/json"
)

//go:embed schema/*.json
var schemas embed.FS

// schema returns the JSON Schema of a kind of component. The files are part of the binary, so a
// missing one is a programmer's error.
func schema(kind string) json.RawMessage {
	text, err := schemas.ReadFile("schema/" + kind + ".json")
	if err != nil {
		panic(err)
	}
	return text
}
