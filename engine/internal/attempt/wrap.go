package attempt

import (
	"encoding/json"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
)

// stageDirVariable names, for a command that a stage wraps, the folder of the stage, where its scripts lie.
const stageDirVariable = "AGENT_PIPELINES_STAGE_DIR"

// addWrapped puts the command that the node wraps into the request, with its inputs. The artifact that it makes is not yet
// the node's: the contract is nothing to it.
func (a *attempt) addWrapped(req *sdk.ExecuteRequest) error {
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
	given, err := artifact.Load(a.Dir, *ref)
	if err != nil {
		return err
	}
	if req.Input, err = json.Marshal(given.Data); err != nil {
		return fmt.Errorf("hand the inputs to the command of %s: %w", a.node.ID, err)
	}
	return nil
}
