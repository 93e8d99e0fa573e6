package inbox

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// SignAs signs a message with the id that it has.
func SignAs(m *Message, session string, run Run) error {
	m.Session, m.RunID = session, run.ID
	return m.sign(run.Keys)
}

func TestIDsSortAsTimes(t *testing.T) {
	base := time.Date(2026, 12, 31, 23, 59, 59, 999999998, time.FixedZone("", 3600))
	last := ""
	for _, step := range []time.Duration{0, 1, 2, time.Microsecond, time.Second, time.Minute, 24 * time.Hour} {
		id := newID(base.Add(step))
		if id <= last || !idPattern.MatchString(id) {
			t.Errorf("%s after %s", id, last)
		}
		last = id
	}
	if one, other := newID(base), newID(base); one == other {
		t.Errorf("two ids of one moment are equal: %s", one)
	}
}

// FuzzParse checks that a parsed message could have been posted, and does not change when it is written and parsed
// again.
func FuzzParse(f *testing.F) {
	f.Add("m", `{"id":"m","action":"pause","by":"ann","at":"2026-03-01T12:00:00Z"}`)
	f.Add("m", `{"action":"answer","question":"q","answer":"yes","digest":"d","text":"\u0000"}`)
	f.Add("m", `{"action":"rejected"}`)
	f.Add("m", `{"id":1}`)
	f.Add("m", "null")
	f.Fuzz(func(t *testing.T, id, text string) {
		m, err := parse(id, []byte(text))
		if err != nil {
			return
		}
		if m.ID != id || m.check() != nil {
			t.Fatalf("%+v from id %q", m, id)
		}
		again := testkit.Must(json.Marshal(m))
		back, err := parse(id, again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		testkit.Equal(t, m, back)
	})
}
