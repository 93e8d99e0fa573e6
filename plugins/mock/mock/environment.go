package mock

import (
	"cmp"
	"path/filepath"
	"strconv"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The variables of the Bash engine's mock mode that the provider reads, and the provider's own variables. The
// environment of a request overrides the plugin's. The host, not the provider, reads MOCK_MODE, which replaces every
// provider with the mock.
const (
	envFixtures   = "MOCK_FIXTURES_DIR" // fixtures directory, relative to the work directory
	envDelay      = "MOCK_DELAY"        // delay of each reply in seconds, a fraction is allowed
	envIteration  = "MOCK_ITERATION"    // the iteration of requests that set none
	envProvider   = "MOCK_PROVIDER"     // the provider that the mock replaces
	envStatusFile = "MOCK_STATUS_FILE"  // the status path of requests without one
	envResultFile = "MOCK_RESULT_FILE"  // the result path of requests without one
	envConfig     = "MOCK_CONFIG"       // configuration file, relative to the work directory
)

// environment looks up variables for one request.
type environment struct {
	request map[string]string
	getenv  func(string) string
}

func (e environment) get(name string) string {
	if value, ok := e.request[name]; ok {
		return value
	}
	return e.getenv(name)
}

// delay returns MOCK_DELAY, 0 if it is not set.
func (e environment) delay() (time.Duration, error) {
	text := e.get(envDelay)
	if text == "" {
		return 0, nil
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0 && seconds <= maxDelaySeconds) {
		return 0, failure.New(failure.ConfigInvalid, "%s is %q, want seconds such as 0.5", envDelay, text)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// maxDelaySeconds is a week: a longer delay is a typing error, and a much longer one would overflow a duration.
const maxDelaySeconds = 7 * 24 * 60 * 60

// completeRequest returns the request with missing members filled from the environment.
func (e environment) completeRequest(req sdk.ExecuteRequest) (sdk.ExecuteRequest, error) {
	if text := e.get(envIteration); req.Iteration == 0 && text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return req, failure.New(failure.ConfigInvalid, "%s is %q, want a number from 1", envIteration, text)
		}
		req.Iteration = n
	}
	req.Paths.Status = cmp.Or(req.Paths.Status, e.get(envStatusFile))
	req.Paths.Result = cmp.Or(req.Paths.Result, e.get(envResultFile))
	return req, nil
}

// absolutePath returns path relative to dir; "" stays "".
func absolutePath(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
