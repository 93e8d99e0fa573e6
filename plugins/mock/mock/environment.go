package mock

import (
	"strconv"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// The variables of the Bash engine's mock mode that the provider understands, and those of its own. A
// request's environment goes before the plugin's. MOCK_MODE, which replaces every provider by this one,
// is the host's affair.
const (
	envFixtures    = "MOCK_FIXTURES_DIR" // directory of fixtures, relative to the work directory
	envDelay       = "MOCK_DELAY"        // seconds that each reply takes, a fraction is allowed
	envIteration   = "MOCK_ITERATION"    // number of the iteration where the request has none
	envProvider    = "MOCK_PROVIDER"     // the provider that the mock stands in for
	envStatusFile  = "MOCK_STATUS_FILE"  // where the status goes when the request names no path
	envResultFile  = "MOCK_RESULT_FILE"  // where the result goes when the request names no path
	envConfig      = "MOCK_CONFIG"       // file with a configuration, relative to the work directory
	envReleaseFile = "MOCK_RELEASE_FILE" // file to which the strategy appends released sessions
)

// environment reads variables for one request.
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

// delay is MOCK_DELAY, 0 when it is not set.
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

// maxDelaySeconds is a week: longer is a typing error, and far longer would overflow a duration.
const maxDelaySeconds = 7 * 24 * 60 * 60

// completeRequest returns the request with what only the environment knows.
func (e environment) completeRequest(req sdk.ExecuteRequest) (sdk.ExecuteRequest, error) {
	if text := e.get(envIteration); req.Iteration == 0 && text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return req, failure.New(failure.ConfigInvalid, "%s is %q, want a number from 1", envIteration, text)
		}
		req.Iteration = n
	}
	if req.Paths.Status == "" {
		req.Paths.Status = e.get(envStatusFile)
	}
	if req.Paths.Result == "" {
		req.Paths.Result = e.get(envResultFile)
	}
	return req, nil
}
