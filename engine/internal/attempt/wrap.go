package attempt

import (
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
)

// stageDirVariable is the variable with the stage's folder, for the command that a stage wraps.
const stageDirVariable = "AGENT_PIPELINES_STAGE_DIR"

// addWrappedCommand adds the wrapped command and its inputs to the request, without the contract: the command's
// output is mapped to the artifact later.
func (a *attempt) addWrappedCommand(req *sdk.ExecuteRequest) error {
	if !a.node.WrapsCommand() {
		return nil
	}
	req.Run, req.Input, req.ArtifactSchema = a.node.Wraps.Run, json.RawMessage("{}"), nil
	if dir := a.Project.StageDir(a.node); dir != "" {
		req.Environment[stageDirVariable] = dir
	}
	ref := a.state.Nodes[a.command.Location.Outer()].Input
	if ref == nil {
		return nil
	}
	input, err := artifact.Load(a.Dir, *ref)
	if err != nil {
		return err
	}
	if req.Input, err = json.Marshal(input.Data); err != nil {
		return fmt.Errorf("hand the inputs to the command of %s: %w", a.node.ID, err)
	}
	return nil
}
