package sandboxpolicy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// U266, DESIGN 6: project files can only narrow the user's settings.
func TestDemand(t *testing.T) {
	type box = plan.Sandbox
	for _, tt := range []struct {
		name     string
		requests sandboxpolicy.Requests
		want     box
		ignored  []string
	}{
		{"no requests", sandboxpolicy.Requests{}, box{}, nil},
		{
			"the author alone may grant",
			sandboxpolicy.Requests{Author: &box{Mode: "workspace", Write: []string{"/x"}}},
			box{Mode: "workspace", Write: []string{"/x"}},
			nil,
		},
		{"an author's none is ignored", sandboxpolicy.Requests{Author: &box{Mode: "none"}}, box{}, nil},
		{"that of a trusted author is not", sandboxpolicy.Requests{Author: &box{Mode: "none"}, Trusted: true}, box{Mode: "none"}, nil},
		{"nor is the user's", sandboxpolicy.Requests{User: &box{Mode: "none"}}, box{Mode: "none"}, nil},
		{
			"the author cannot weaken",
			sandboxpolicy.Requests{User: &box{Mode: "strict", Network: "off", Processes: 10}, Author: &box{Mode: "workspace", Network: "on", Processes: 100, Memory: 7}},
			box{Mode: "strict", Network: "off", Processes: 10, Memory: 7},
			nil,
		},
		{
			"the author can narrow",
			sandboxpolicy.Requests{User: &box{Mode: "workspace", Network: "on", CPU: 9}, Author: &box{Mode: "strict", Network: "loopback", CPU: 3}},
			box{Mode: "strict", Network: "loopback", CPU: 3},
			nil,
		},
		{
			"the author cannot grant beside the user",
			sandboxpolicy.Requests{User: &box{Mode: "workspace", Read: []string{"~/u"}}, Author: &box{Read: []string{"/r"}, Write: []string{"/w"}}},
			box{Mode: "workspace", Read: []string{"~/u"}},
			[]string{"/r", "/w"},
		},
		{
			"a trusted author can",
			sandboxpolicy.Requests{User: &box{Mode: "workspace", Read: []string{"~/u"}}, Author: &box{Read: []string{"/r"}}, Trusted: true},
			box{Mode: "workspace", Read: []string{"~/u", "/r"}},
			nil,
		},
		{
			"the user requests none, the author more",
			sandboxpolicy.Requests{User: &box{Mode: "none"}, Author: &box{Mode: "strict", Write: []string{"/w"}}},
			box{Mode: "strict", Write: []string{"/w"}},
			nil,
		},
		{"a request without a mode is for a workspace", sandboxpolicy.Requests{User: &box{Network: "off"}}, box{Mode: "workspace", Network: "off"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ignored := tt.requests.Resolve()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(tt.ignored, ignored); diff != "" {
				t.Errorf("ignored (-want +got)\n%s", diff)
			}
		})
	}
}
