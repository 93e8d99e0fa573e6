package queue

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// promise is the text by which an agent reports that the work is done, even if the queue is not empty.
const promise = "<promise>COMPLETE</promise>"

// maxPromiseSearch limits the search for the promise to the end of an output, in bytes. The engine keeps at most 1 MiB
// of an output.
const maxPromiseSearch = 1 << 20

// The reasons of decisions. All but reasonDone come from the Bash engine.
const (
	reasonEmpty   = "All beads complete"
	reasonDone    = "The queue is empty"
	reasonError   = "Agent reported error - stopping loop"
	reasonPromise = "completion_signal" // also in the Bash engine
)

// Decide stops when the queue prints no line, or when the agent's output contains <promise>COMPLETE</promise>. Before
// the first iteration Decide reads only the queue. An agent that reports an error ends the stage at once.
//
// Errors are config_invalid for an unusable configuration or a missing program, and strategy_failed for a failed
// command: an unreadable queue is not empty.
func (s *Strategy) Decide(ctx context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	c, err := readConfig(req.Config)
	if err != nil {
		return sdk.Decision{}, err
	}
	if req.Hint == "error" {
		return sdk.Decision{Action: sdk.DecisionError, Reason: reasonError}, nil
	}
	complete, err := hasPromise(req)
	if err != nil {
		return sdk.Decision{}, err
	}
	if complete {
		return sdk.Decision{Action: sdk.DecisionStop, Reason: reasonPromise}, nil
	}
	items, err := s.countItems(ctx, c, req)
	switch {
	case err != nil:
		return sdk.Decision{}, err
	case items > 0:
		return sdk.Decision{Action: sdk.DecisionContinue, Reason: fmt.Sprintf("%d left in the queue", items)}, nil
	case len(c.Command) == 0:
		return sdk.Decision{Action: sdk.DecisionStop, Reason: reasonEmpty}, nil
	default:
		return sdk.Decision{Action: sdk.DecisionStop, Reason: reasonDone}, nil
	}
}

// hasPromise reports whether the newest output contains the promise.
func hasPromise(req sdk.DecideRequest) (bool, error) {
	if req.Iteration == 0 || len(req.Outputs) == 0 {
		return false, nil
	}
	path := req.Outputs[len(req.Outputs)-1].Path
	text, err := os.ReadFile(path)
	if err != nil {
		return false, failure.New(failure.StrategyFailed, "queue: read the agent's output: %w", err)
	}
	return bytes.Contains(text[max(0, len(text)-maxPromiseSearch):], []byte(promise)), nil
}

// countItems returns the number of lines that the queue prints.
func (s *Strategy) countItems(ctx context.Context, c Config, req sdk.DecideRequest) (int, error) {
	command := c.Command
	if len(command) == 0 {
		command = Command{beadsProgram, "ready", "--label=" + s.label(c, req.Session)}
	}
	return s.run(ctx, commandRun{
		command: command, dir: req.WorkDir, timeout: c.timeout(), exitOneIsEmpty: len(c.Command) > 0,
		extraEnv: map[string]string{
			"CLAUDE_PIPELINE_SESSION": req.Session, "AGENT_PIPELINES_SESSION": req.Session,
			"AGENT_PIPELINES_NODE": req.Node, "AGENT_PIPELINES_ITERATION": strconv.Itoa(req.Iteration),
		},
	})
}
