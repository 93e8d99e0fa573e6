package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
)

// Key is the name of a setting, such as defaults.provider.
type Key struct {
	Path []string // names of the maps around the setting, and its own name
	Text bool     // its value is always a text, even if it looks like a number
}

// String returns the key as written.
func (k Key) String() string { return strings.Join(k.Path, ".") }

// keyForms are the forms of keys, for messages.
var keyForms = []string{
	"background", "commands.NAME", "defaults.delay", "defaults.provider", "mode", "notify", "providers.NAME.config", "providers.NAME.env",
	"providers.NAME.model", "providers.NAME.sandbox", "sandbox",
}

// ParseKey reads the name of a setting. Names after config and sandbox lead to a member of these maps; a command's name
// may have dots.
func ParseKey(text string) (Key, error) {
	parts := strings.Split(text, ".")
	if slices.Contains(parts, "") {
		return Key{}, unknownKey(text)
	}
	head, rest := parts[0], parts[1:]
	switch {
	case private(head):
		return Key{Path: parts}, nil
	case text == "background", text == "mode":
		return Key{Path: parts, Text: true}, nil
	case head == "commands" && len(rest) > 0:
		return Key{Path: []string{head, strings.Join(rest, ".")}, Text: true}, nil
	case text == "defaults.provider":
		return Key{Path: parts, Text: true}, nil
	case text == "defaults.delay", head == "sandbox", text == "notify":
		return Key{Path: parts}, nil
	case head == "notify":
		return Key{}, errors.New("notify is a list: its entries have no names to set them by; change it in the file")
	case head == "providers" && len(rest) == 2 && rest[1] == "model":
		return Key{Path: parts, Text: true}, nil
	case head == "providers" && len(rest) > 1 && (rest[1] == "config" || rest[1] == "sandbox"), head == "providers" && len(rest) == 2 && rest[1] == "env":
		return Key{Path: parts}, nil
	default:
		return Key{}, unknownKey(text)
	}
}

func unknownKey(text string) error {
	return fmt.Errorf("there is no setting %q (%s)", text, dialect.DidYouMean(text, keyForms))
}
