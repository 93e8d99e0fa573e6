package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Age is a duration flag: "30d", "2w", or in Go's syntax "36h" or "1h30m".
type Age time.Duration

const day = 24 * time.Hour

// MaxAge is the longest age that UnmarshalText accepts: 100 years.
const MaxAge = 100 * 365 * day

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Age) UnmarshalText(text []byte) error {
	d, err := parseAge(string(text))
	if err != nil || d < 0 || d > MaxAge {
		return fmt.Errorf("%q is no age: write 30d, 2w or 36h", text)
	}
	*a = Age(d)
	return nil
}

func parseAge(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			n, err := strconv.ParseUint(number, 10, 15) // in range, whatever the unit
			return time.Duration(n) * unit, err
		}
	}
	return time.ParseDuration(text)
}
