package outcome

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxWait is the longest accepted wait. The longest limits of services are monthly.
const maxWait = 31 * 24 * time.Hour

// durationMax is the maximum length of a duration's text, in bytes.
const durationMax = 100

// clockMargin is added to a time of day, which services round down to the minute.
const clockMargin = time.Minute

// RetryAfter returns the wait that the headers of a service's response ask for: retry-after-ms, or
// retry-after in seconds or as a date. The wait is 0 if the headers are missing or invalid, or ask for
// more than 31 days.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return wait(ms, time.Millisecond)
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return wait(s, time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return until(at, now)
	}
	return 0
}

// wait returns n units, 0 if that is not a valid wait.
func wait(n float64, unit time.Duration) time.Duration {
	if d := n * float64(unit); d > 0 && d <= float64(maxWait) { // false for NaN
		return time.Duration(d)
	}
	return 0
}

func until(at, now time.Time) time.Duration {
	if d := at.Sub(now); d > 0 && d <= maxWait {
		return d
	}
	return 0
}

var (
	waitPattern  = regexp.MustCompile(`(?i)\b(?:try again|retry|retrying|wait|resets?)(?:[ -](?:in|after|for|about))*:? ?(\d)`)
	clockPattern = regexp.MustCompile(`(?i)\b(?:try again at|available again at|resets?(?: at)?) (?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,? (?:(\d{4})[ ,]+)?(?:at )?)?(\d{1,2})(?::(\d\d))? ?([ap]m)(?: \(([a-z]+(?:/[a-z_-]+)*)\))?`)
	stampPattern = regexp.MustCompile(`(?i)limit reached\|(\d{10})\b`)
)

// waitIn returns the wait that a message asks for: "try again in 1m30s", "resets 3:05pm", "Try
// again at Jan 2nd, 2026 3:05 PM", "limit reached|1750000000". The wait is 0 if the message has none. A time
// of day means the next such time after now, in now's zone unless the message names another zone.
func waitIn(message string, now time.Time) time.Duration {
	for _, at := range waitPattern.FindAllStringSubmatchIndex(message, -1) {
		if d := duration(strings.ToLower(message[at[2]:min(len(message), at[2]+durationMax)])); d > 0 {
			return d
		}
	}
	if now.IsZero() {
		return 0
	}
	if m := stampPattern.FindStringSubmatch(message); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64) // ten digits
		return until(time.Unix(seconds, 0), now)
	}
	if m := clockPattern.FindStringSubmatch(message); m != nil {
		return untilClock(m, now)
	}
	return 0
}

var units = map[string]time.Duration{
	"ms": time.Millisecond, "millisecond": time.Millisecond,
	"s": time.Second, "sec": time.Second, "second": time.Second, "": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hour": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour,
}

var durationPattern = regexp.MustCompile(`^(?:,? ?(?:and )?)(\d+(?:\.\d+)?) ?([a-z]*)`)

// duration returns the sum of the numbers with units at the beginning of a text: "1.5s", "2 hours
// and 5 minutes", "30". A number without a unit counts seconds, and is accepted only as the first
// number.
func duration(text string) time.Duration {
	var sum time.Duration
	for first := true; ; first = false {
		m := durationPattern.FindStringSubmatch(text)
		if m == nil {
			break
		}
		unit, ok := units[m[2]]
		if !ok {
			unit, ok = units[strings.TrimSuffix(m[2], "s")]
		}
		rest := text[len(m[0]):]
		clock := strings.IndexAny(rest, ":/-") == 0 // "resets 3:05pm", a date, or a count, "retry 1/5"
		if !ok || (m[2] == "" && (clock || !first)) {
			break
		}
		n, _ := strconv.ParseFloat(m[1], 64)
		if n*float64(unit) > float64(maxWait-sum) {
			return 0
		}
		sum += wait(n, unit)
		text = rest
	}
	return sum
}

// untilClock returns the wait until the time in m, the groups of clockPattern: month, day, year,
// hour, minute, am or pm, zone.
func untilClock(m []string, now time.Time) time.Duration {
	if zone, err := time.LoadLocation(m[7]); err == nil && m[7] != "" {
		now = now.In(zone)
	}
	hour, _ := strconv.Atoi(m[4])
	minute, _ := strconv.Atoi(m[5])
	if hour < 1 || hour > 12 || minute > 59 {
		return 0
	}
	hour %= 12
	if strings.EqualFold(m[6], "pm") {
		hour += 12
	}
	year, month, day := now.Date()
	dated := m[1] != ""
	if dated {
		at, err := time.Parse("Jan", m[1]) // accepts any case
		if err != nil {
			return 0
		}
		month = at.Month()
		day, _ = strconv.Atoi(m[2])
		if m[3] != "" {
			year, _ = strconv.Atoi(m[3])
		}
	}
	at := time.Date(year, month, day, hour, minute, 0, 0, now.Location()).Add(clockMargin)
	if passed := !at.After(now); passed && !dated {
		at = at.AddDate(0, 0, 1)
	} else if passed && m[3] == "" {
		at = at.AddDate(1, 0, 0)
	}
	return until(at, now)
}
