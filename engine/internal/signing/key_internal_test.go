package signing

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// FuzzParseTrusted checks that a list of keys does not change when it is written and parsed again, and that no key
// occurs in two forms.
func FuzzParseTrusted(f *testing.F) {
	const public = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	f.Add(public + " ann\n")
	f.Add(public + " ann\n" + public + " bob")
	f.Add(public + "\n")
	f.Add("ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB ann\n")
	f.Add("\n")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := parseTrusted([]byte(text))
		if err != nil {
			return
		}
		for _, key := range keys {
			testkit.Equal(t, key.Public, publicText(testkit.Must(parsePublic(key.Public))))
		}
		testkit.Equal(t, keys, testkit.Must(parseTrusted(renderTrusted(keys))))
	})
}
