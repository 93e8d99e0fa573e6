package event

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The longest texts of agents and plugins in events, in bytes of a rendered line: an escaped text may take six times
// its own length. The longest event has six texts and stays under [MaxLine].
const (
	MaxText   = 8 << 10 // messages, summaries
	MaxReason = 2 << 10 // of decisions; a state keeps many of them
	MaxName   = 256     // names chosen by a plugin: models, versions, tools
)

// ellipsis marks the place where a text was truncated.
const ellipsis = "…"

// Truncate returns s, or a prefix that takes at most limit bytes in a journal line, including the "…" at its end.
func Truncate(s string, limit int) string {
	if fitsIn(s, limit) {
		return s
	}
	space, end := limit-len(ellipsis), 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if space -= encodedLen(r); space < 0 {
			break
		}
		end += n
	}
	return strings.ToValidUTF8(s[:end], "") + ellipsis
}

// TruncateFront is [Truncate] for texts whose end matters most: it keeps a suffix and puts the "…" at its beginning.
func TruncateFront(s string, limit int) string {
	if fitsIn(s, limit) {
		return s
	}
	space, begin := limit-len(ellipsis), len(s)
	for begin > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:begin])
		if space -= encodedLen(r); space < 0 {
			break
		}
		begin -= n
	}
	return ellipsis + strings.ToValidUTF8(s[begin:], "")
}

// fitsIn reports whether s takes at most limit bytes in a line. It avoids counting for most texts.
func fitsIn(s string, limit int) bool {
	if len(s) > limit {
		return false
	}
	if len(s)*6 <= limit {
		return true
	}
	b, err := json.Marshal(s)
	return err == nil && len(b)-len(`""`) <= limit
}

// encodedLen returns the maximum length of a character in a line, in bytes.
func encodedLen(r rune) int {
	switch {
	case r < ' ', r == '<', r == '>', r == '&', r == 0x7f, r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return len(`\u0000`)
	case r == '"', r == '\\':
		return len(`\"`)
	default:
		return utf8.RuneLen(r)
	}
}
