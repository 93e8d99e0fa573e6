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

// promise is what agents print to say that nothing is left, whatever the queue says.
const promise = "<promise>COMPLETE</promise>"

// maxPromiseSearch is how much of the end of an output is searched for it; the kernel keeps at most 1 MiB.
const maxPromiseSearch = 1 << 20

// The reasons, in the words of the Bash engine.
const (
	reasonEmpty   = "All beads complete"
	reasonDone    = "The queue is empty"
	reasonError   = "Agent reported error - stopping loop"
	reasonPromise = "completion_signal" // the Bash engine's word
)

// Decide stops when the queue prints no line, or when the agent's output holds
// <promise>COMPLETE</promise>. Asked before the first iteration it looks at the queue alone. An agent
// that reports an error ends the stage at once.
//
// Errors are config_invalid for an unusable configuration or a missing program, and strategy_failed
// where the command fails: a queue that cannot be read is not an empty one.
func (s *Strategy) Decide(ctx context.Context, req sdk.DecideRequest) (sdk.Decision, error) {
	c, err := readConfig(req.Config)
	if err != nil {
		return sdk.Decision{}, err
	}
	if req.Hint == "error" {
		return sdk.Decision{Action: sdk.DecisionError, Reason: reasonError}, nil
	}
	promised, err := hasPromise(req)
	if err != nil {
		return sdk.Decision{}, err
	}
	if promised {
		return sdk.Decision{Action: sdk.DecisionStop, Reason: reasonPromise}, nil
	}
	left, err := s.countItems(ctx, c, req)
	switch {
	case err != nil:
		return sdk.Decision{}, err
	case left > 0:
		return sdk.Decision{Action: sdk.DecisionContinue, Reason: fmt.Sprintf("%d left in the queue", left)}, nil
	case len(c.Command) == 0:
		return sdk.Decision{Action: sdk.DecisionStop, Reason: reasonEmpty}, nil
	default:
		return sdk.Decision{Action: sdk.DecisionStop, Reason: reasonDone}, nil
	}
}

// hasPromise reads the newest output.
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

// countItems counts the lines that the queue prints.
func (s *Strategy) countItems(ctx context.Context, c Config, req sdk.DecideRequest) (int, error) {
	command := c.Command
	if len(command) == 0 {
		command = Command{beadsProgram, "ready", "--label=" + s.label(c, req.Session)}
	}
	printed, err := s.run(ctx, commandRun{
		command: command, dir: req.WorkDir, timeout: c.timeout(), exitOneIsEmpty: len(c.Command) > 0,
		extraEnv: map[string]string{
			"CLAUDE_PIPELINE_SESSION": req.Session, "AGENT_PIPELINES_SESSION": req.Session,
			"AGENT_PIPELINES_NODE": req.Node, "AGENT_PIPELINES_ITERATION": strconv.Itoa(req.Iteration),
		},
	})
	if err != nil {
		return 0, err
	}
	return printed.count, nil
}
