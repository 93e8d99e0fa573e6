package mock

import (
	"regexp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// attemptKey is the form of an attempt's key, <kind>:<node>/v<visit>/r<run>/<branch>/<step>/i<iteration>#<n>. Its one
// group is the step.
var attemptKey = regexp.MustCompile(`^[a-z]+:[^/]*/v\d+/r\d+/[^/]+/([^/]+)/i\d+#\d+$`)

// stepID is the id of the step that the request is for; "" where its node has no steps, or the key is none of
// this form.
func stepID(req sdk.ExecuteRequest) string {
	m := attemptKey.FindStringSubmatch(req.Key)
	if len(m) == 0 || m[1] == "-" {
		return ""
	}
	return m[1]
}
