package e2ereal

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScrub(t *testing.T) {
	const (
		a = "ae7b9cb0-ee51-470f-86da-a9d25088be77"
		b = "f4e0e3a2-ac99-4757-bc6e-c35fbe4ac563"
	)
	in := `{"session_id":"` + a + `","uuid":"` + b + `","timestamp":"2031-05-06T07:08:09.123Z","cwd":"/tmp/x/project","socket":"/tmp/x/9174.sock"}
{"session_id":"` + a + `","duration_ms":1234,"list":[{"text":"in /tmp/x/home & <b>"}],"cost":0.007795}
{"subtype":"init","tools":["a","b","c","d","e"],"nodes":[1]}
{"subtype":"other","tools":["a","b","c","d","e"]}
warning: no JSON in /tmp/x
`
	want := `{"cwd":"/project","session_id":"00000000-0000-4000-8000-000000000001","socket":"/world/1.sock","timestamp":"2026-01-01T00:00:00.000Z","uuid":"00000000-0000-4000-8000-000000000002"}
{"cost":0.007795,"duration_ms":1,"list":[{"text":"in /home/user & <b>"}],"session_id":"00000000-0000-4000-8000-000000000001"}
{"nodes":[1],"subtype":"init","tools":["a","b","c","d"]}
{"subtype":"other","tools":["a","b","c","d","e"]}
warning: no JSON in /world
`
	s := NewScrubber("/tmp/x/project", "/project", "/tmp/x/home", "/home/user", "/tmp/x", "/world")
	if diff := cmp.Diff(want, string(s.Stream([]byte(in)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
