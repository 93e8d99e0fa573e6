package signing

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Key is a public key.
type Key struct {
	// Public is the key as text: "ed25519:" and the 32 bytes in URL-safe base64 without padding (RFC 4648, section 5).
	Public string `json:"public_key"`
	// Name is the user's name for a trusted key, "" for the user's own key.
	Name string `json:"name,omitempty"`
}

const prefix = "ed25519:"

// encoding is strict, so that a key has exactly one text.
var encoding = base64.RawURLEncoding.Strict()

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

func publicText(key ed25519.PublicKey) string { return prefix + encoding.EncodeToString(key) }

// NewKey returns the key with the text public. name may be "": the name is then "key-" and the beginning of the key.
func NewKey(public, name string) (Key, error) {
	if _, err := parsePublic(public); err != nil {
		return Key{}, failure.New(failure.ConfigInvalid, "%w", err).
			WithHint("the owner of the key prints it with `%s`", failure.Next("keys", "show"))
	}
	name = cmp.Or(name, "key-"+strings.Trim(public[len(prefix):][:8], "-_"))
	if !namePattern.MatchString(name) {
		return Key{}, failure.New(failure.ConfigInvalid, "invalid name %q of a key", name).
			WithHint("use up to 64 letters, digits and the characters . _ @ -, beginning with a letter or a digit")
	}
	return Key{public, name}, nil
}

func parsePublic(text string) (ed25519.PublicKey, error) {
	digits, ok := strings.CutPrefix(text, prefix)
	key, err := encoding.DecodeString(digits)
	if !ok || err != nil || len(key) != ed25519.PublicKeySize || strings.ContainsAny(digits, "\r\n") {
		return nil, fmt.Errorf("%.80q is not a public key: want %s and 43 characters of base64", text, prefix)
	}
	return key, nil
}

// parseTrusted reads a list of trusted keys: one key and its name per line, separated by one space. The error names the
// line.
func parseTrusted(text []byte) ([]Key, error) {
	var keys []Key
	for line := range bytes.Lines(text) {
		public, name, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		key, err := NewKey(public, name)
		if err != nil || name == "" {
			return nil, lineError{len(keys) + 1}
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// lineError reports a line, counted from 1, that is not a trusted key.
type lineError struct{ line int }

func (e lineError) Error() string {
	return fmt.Sprintf("line %d is not a public key and a name", e.line)
}

func renderTrusted(keys []Key) []byte {
	var text bytes.Buffer
	for _, key := range keys {
		fmt.Fprintf(&text, "%s %s\n", key.Public, key.Name)
	}
	return text.Bytes()
}
