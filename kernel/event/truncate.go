package event

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// The longest texts of agents and plugins in events, in bytes of a rendered line: escaped, a text may
// take six times its own length. The longest event has six texts and stays under [MaxLine].
const (
	MaxText   = 8 << 10 // messages, summaries
	MaxReason = 2 << 10 // of decisions, of which a state keeps many
	MaxName   = 256     // words that a plugin chose: models, versions, tools
)

// cut marks the place where a text was cut.
const ellipsis = "…"

// Brief returns s, or as much of its beginning as takes at most limit bytes in a line of the journal, with
// "…" at its end.
func Truncate(s string, limit int) string {
	if fits(s, limit) {
		return s
	}
	room, end := limit-len(ellipsis), 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if room -= encodedLen(r); room < 0 {
			break
		}
		end += n
	}
	return strings.ToValidUTF8(s[:end], "") + ellipsis
}

// BriefEnd is [Brief] for texts whose end matters most: the "…" is at its beginning.
func TruncateFront(s string, limit int) string {
	if fits(s, limit) {
		return s
	}
	room, begin := limit-len(ellipsis), len(s)
	for begin > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:begin])
		if room -= encodedLen(r); room < 0 {
			break
		}
		begin -= n
	}
	return ellipsis + strings.ToValidUTF8(s[begin:], "")
}

// fits spares most texts the counting.
func fits(s string, limit int) bool {
	if len(s) > limit {
		return false
	}
	if len(s)*6 <= limit {
		return true
	}
	b, err := json.Marshal(s)
	return err == nil && len(b)-len(`""`) <= limit
}

// rendered is the length of a character in a line, at most.
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
