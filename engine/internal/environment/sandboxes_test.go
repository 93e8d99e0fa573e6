package environment

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// U266, DESIGN 6: project files can only narrow the user's settings.
func TestRestrict(t *testing.T) {
	type box = plan.Sandbox
	type requests struct {
		user, author *box
		trusted      bool
	}
	for _, tt := range []struct {
		name     string
		requests requests
		want     box
		ignored  []string
	}{
		{"no requests", requests{}, box{}, nil},
		{
			"the author alone may grant",
			requests{author: &box{Mode: "workspace", Write: []string{"/x"}}},
			box{Mode: "workspace", Write: []string{"/x"}},
			nil,
		},
		{"an author's none is ignored", requests{author: &box{Mode: "none"}}, box{}, nil},
		{"that of a trusted author is not", requests{author: &box{Mode: "none"}, trusted: true}, box{Mode: "none"}, nil},
		{"nor is the user's", requests{user: &box{Mode: "none"}}, box{Mode: "none"}, nil},
		{
			"the author cannot weaken",
			requests{user: &box{Mode: "strict", Network: "off", Processes: 10}, author: &box{Mode: "workspace", Network: "on", Processes: 100, Memory: 7}},
			box{Mode: "strict", Network: "off", Processes: 10, Memory: 7},
			nil,
		},
		{
			"the author can narrow",
			requests{user: &box{Mode: "workspace", Network: "on", CPU: 9}, author: &box{Mode: "strict", Network: "loopback", CPU: 3}},
			box{Mode: "strict", Network: "loopback", CPU: 3},
			nil,
		},
		{
			"the author cannot grant beside the user",
			requests{user: &box{Mode: "workspace", Read: []string{"~/u"}}, author: &box{Read: []string{"/r"}, Write: []string{"/w"}}},
			box{Mode: "workspace", Read: []string{"~/u"}},
			[]string{"/r", "/w"},
		},
		{
			"a trusted author can",
			requests{user: &box{Mode: "workspace", Read: []string{"~/u"}}, author: &box{Read: []string{"/r"}}, trusted: true},
			box{Mode: "workspace", Read: []string{"~/u", "/r"}},
			nil,
		},
		{
			"the user requests none, the author more",
			requests{user: &box{Mode: "none"}, author: &box{Mode: "strict", Write: []string{"/w"}}},
			box{Mode: "strict", Write: []string{"/w"}},
			nil,
		},
		{"a request without a mode is for a workspace", requests{user: &box{Network: "off"}}, box{Mode: "workspace", Network: "off"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ignored := restrict(tt.requests.user, tt.requests.author, tt.requests.trusted)
			testkit.Equal(t, tt.want, got)
			testkit.Equal(t, tt.ignored, ignored)
		})
	}
}
