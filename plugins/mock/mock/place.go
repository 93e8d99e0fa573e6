package mock

import (
	"regexp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// attemptKey matches the key of an attempt, <kind>:<node>/v<visit>/r<run>/<branch>/<step>/i<iteration>#<n>. Its
// group is the step.
var attemptKey = regexp.MustCompile(`^[a-z]+:[^/]*/v\d+/r\d+/[^/]+/([^/]+)/i\d+#\d+$`)

// stepID returns the id of the request's step; "" for a node without steps or a key of another form.
func stepID(req sdk.ExecuteRequest) string {
	m := attemptKey.FindStringSubmatch(req.Key)
	if len(m) == 0 || m[1] == "-" {
		return ""
	}
	return m[1]
}
