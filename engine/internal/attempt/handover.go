package attempt

import (
	"encoding/json"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// handover remembers the calls of the tool by which the agent hands its artifact over (artifact.from: tool:<name>): the
// last one that was not refused counts. It is used under the exchange's mutex.
type handover struct {
	tool  string // "" where no tool does
	calls []handedOver
}

// maxHandedOver is how many calls whose end is not known are remembered: an agent may make many and tell the end of none.
const maxHandedOver = 8

type handedOver struct {
	id   string
	args json.RawMessage
}

// made takes a call up that is made, or that the agent says it made. Of the earlier ones only those count on that may
// still come to nothing.
func (h *handover) made(c sdk.ToolCall) {
	if h.tool == "" || c.Tool != h.tool {
		return
	}
	h.refused(c.CallID)
	h.calls = append(h.calls, handedOver{c.CallID, slices.Clone(c.Args)})
	h.calls = h.calls[max(0, len(h.calls)-maxHandedOver):]
}

// ended takes the end of a call up: one that succeeded makes those before it needless, one that did not is forgotten.
func (h *handover) ended(id string, status sdk.ToolStatus) {
	i := slices.IndexFunc(h.calls, func(c handedOver) bool { return c.id == id })
	switch {
	case i < 0:
	case status == sdk.ToolSuccess:
		h.calls = h.calls[i:]
	default:
		h.refused(id)
	}
}

func (h *handover) refused(id string) {
	h.calls = slices.DeleteFunc(h.calls, func(c handedOver) bool { return c.id == id })
}

// recalled takes up the calls of an attempt that a crash cut off, as the journal has them.
func (a *attempt) recalled(h *handover) {
	for _, c := range a.loop().Calls {
		if h.tool == "" || c.Call.Tool != h.tool || c.Result == nil || c.Result.Status != string(sdk.ToolSuccess) {
			continue
		}
		args, err := a.argsOf(c)
		if err != nil {
			a.log.Warn("the arguments of a call from before a crash cannot be read", "call", c.Call.CallID, "error", err)
			continue
		}
		h.calls = append(h.calls, handedOver{c.Call.CallID, args})
	}
}

func (a *attempt) argsOf(c state.Call) (json.RawMessage, error) {
	if c.Call.ArgsRef == nil {
		return c.Call.Args, nil
	}
	return a.Dir.ReadRef(*c.Call.ArgsRef)
}

// keepHandedOver writes the artifact that was handed over by a call beside the iteration.
func (a *attempt) keepHandedOver() error {
	if a.exchange == nil {
		return nil
	}
	a.exchange.mu.Lock()
	defer a.exchange.mu.Unlock()
	calls := a.exchange.handed.calls
	if len(calls) == 0 {
		return nil
	}
	args := a.Redactor.Agent().JSON(calls[len(calls)-1].args)
	return a.Dir.Replace(a.iteration.ArtifactCall(), append(args, '\n'))
}
