package stubmodel

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	oai "github.com/openai/openai-go/v3/responses"
)

// responsesSDK is github.com/openai/openai-go with the Responses API, in the hands of a small agent: it says "Be brief." and
// "hello", offers the tools Write and Bash, and keeps the conversation.
type responsesSDK struct {
	client openai.Client
	input  oai.ResponseInputParam
	calls  []receivedCall
}

func newResponsesSDK(base string, client *http.Client) *responsesSDK {
	return &responsesSDK{
		client: openai.NewClient(option.WithAPIKey("dummy"), option.WithBaseURL(base+"/v1"), option.WithHTTPClient(client), option.WithMaxRetries(0)),
		input:  oai.ResponseInputParam{oai.ResponseInputItemParamOfMessage("hello", oai.EasyInputMessageRoleUser)},
	}
}

// ask continues the conversation; the results answer the calls of the answer before, in order.
func (s *responsesSDK) ask(ctx context.Context, stream bool, results ...string) (received, error) {
	for i, result := range results {
		s.input = append(s.input, toolOutput(s.calls[i], result))
	}
	params := oai.ResponseNewParams{
		Model: "test-model", Instructions: openai.String("Be brief."),
		Input: oai.ResponseNewParamsInputUnion{OfInputItemList: s.input},
		Tools: []oai.ToolUnionParam{
			oai.ToolParamOfFunction("Write", map[string]any{}, false),
			oai.ToolParamOfFunction("Bash", map[string]any{}, false),
		},
	}
	send := s.complete
	if stream {
		send = s.stream
	}
	h, response, err := send(ctx, params)
	if err != nil {
		return received{}, err
	}
	for _, item := range response.Output {
		s.input = append(s.input, param.Override[oai.ResponseInputItemUnionParam](item.AsAny()))
	}
	s.calls = h.Calls
	return h, nil
}

// toolOutput answers a call with the item that belongs to its kind.
func toolOutput(call receivedCall, result string) oai.ResponseInputItemUnionParam {
	kind := "function_call_output"
	if call.Custom {
		kind = "custom_tool_call_output"
	}
	item := map[string]any{"type": kind, "call_id": call.ID, "output": result}
	return param.Override[oai.ResponseInputItemUnionParam](item)
}

func (s *responsesSDK) complete(ctx context.Context, params oai.ResponseNewParams) (received, *oai.Response, error) {
	response, err := s.client.Responses.New(ctx, params)
	if err != nil {
		return received{}, nil, err
	}
	return responsesReceived(response), response, nil
}

// stream joins the pieces of a streamed response and compares the result with the complete response
// at the end. Each piece must find the item that it belongs to.
func (s *responsesSDK) stream(ctx context.Context, params oai.ResponseNewParams) (received, *oai.Response, error) {
	stream := s.client.Responses.NewStreaming(ctx, params)
	defer stream.Close()
	var text, thinking string
	inputs := map[string]string{} // of the calls, by item
	var next int64
	for stream.Next() {
		event := stream.Current()
		if event.SequenceNumber != next {
			return received{}, nil, fmt.Errorf("event %s has number %d, want %d", event.Type, event.SequenceNumber, next)
		}
		next++
		switch event := event.AsAny().(type) {
		case oai.ResponseTextDeltaEvent:
			text += event.Delta
		case oai.ResponseReasoningSummaryTextDeltaEvent:
			thinking += event.Delta
		case oai.ResponseFunctionCallArgumentsDeltaEvent:
			inputs[event.ItemID] += event.Delta
		case oai.ResponseCustomToolCallInputDeltaEvent:
			inputs[event.ItemID] += event.Delta
		case oai.ResponseFailedEvent:
			return received{}, nil, errors.New(string(event.Response.Error.Code))
		case oai.ResponseIncompleteEvent:
			return compareStream(text, thinking, inputs, &event.Response)
		case oai.ResponseCompletedEvent:
			return compareStream(text, thinking, inputs, &event.Response)
		}
	}
	return received{}, nil, errors.Join(stream.Err(), errors.New("the stream ended without its response"))
}

func compareStream(text, thinking string, inputs map[string]string, response *oai.Response) (received, *oai.Response, error) {
	h := responsesReceived(response)
	if text != h.Text || thinking != h.Thinking {
		return received{}, nil, fmt.Errorf("pieces %q and %q, in the end %q and %q", text, thinking, h.Text, h.Thinking)
	}
	for _, item := range response.Output {
		if got := callInput(item); got != inputs[item.ID] {
			return received{}, nil, fmt.Errorf("item %s: pieces %q, in the end %q", item.ID, inputs[item.ID], got)
		}
	}
	return h, response, nil
}

func responsesReceived(response *oai.Response) received {
	usage := response.Usage
	h := received{End: string(response.Status), Text: response.OutputText(), Usage: Usage{
		Output: int(usage.OutputTokens), Reasoning: int(usage.OutputTokensDetails.ReasoningTokens),
		CacheRead: int(usage.InputTokensDetails.CachedTokens), CacheWrite: int(usage.InputTokensDetails.CacheWriteTokens),
	}}
	h.Usage.Input = int(usage.InputTokens) - h.Usage.CacheRead - h.Usage.CacheWrite
	if reason := response.IncompleteDetails.Reason; reason != "" {
		h.End += ": " + reason
	}
	for _, item := range response.Output {
		for _, summary := range item.Summary {
			h.Thinking += summary.Text
		}
		if item.CallID != "" {
			h.Calls = append(h.Calls, receivedCall{
				ID: item.CallID, Name: item.Name, Input: callInput(item),
				Custom: item.Type == "custom_tool_call",
			})
		}
	}
	return h
}

// callInput returns the input of a call of either kind, "" for other items.
func callInput(item oai.ResponseOutputItemUnion) string {
	switch item := item.AsAny().(type) {
	case oai.ResponseFunctionToolCall:
		return item.Arguments
	case oai.ResponseCustomToolCall:
		return item.Input
	default:
		return ""
	}
}
