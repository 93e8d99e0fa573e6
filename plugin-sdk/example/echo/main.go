// Command agent-plugin-echo is a provider that answers with its prompt.
package main

import (
	"context"
	"encoding/json"
	"os"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

func main() {
	serve.Main(sdk.Plugin{Name: "echo", Version: "1.0.0", Providers: []sdk.Provider{echo{}}})
}

type echo struct{}

func (echo) Describe() sdk.Component {
	return sdk.Component{
		Name:         "echo",
		Summary:      "answers with the prompt",
		ConfigSchema: json.RawMessage(`{"type": "object", "properties": {"delay_ms": {"type": "integer", "minimum": 0}}}`),
		Provider:     &sdk.ProviderTraits{Locality: sdk.LocalityLocal, SoftCancel: true},
	}
}

func (echo) Validate(_ context.Context, req sdk.ValidateRequest) error {
	_, err := delay(req.Config)
	return err
}

func (echo) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	wait, err := delay(req.Config)
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	x.Progress(sdk.Progress{Message: "thinking about it"})
	select {
	case <-time.After(wait):
	case <-ctx.Done(): // cancelled: clean up and report it
		return sdk.ExecuteResult{}, ctx.Err()
	}
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: req.Prompt})
	if req.Paths.Result != "" { // usually an agent writes this file, without which no stage continues
		if err := os.WriteFile(req.Paths.Result, []byte(`{"summary": "said it back"}`), 0o644); err != nil {
			return sdk.ExecuteResult{}, err
		}
	}
	return sdk.ExecuteResult{Output: req.Prompt, Outcome: sdk.OutcomeSucceeded, Duration: wait}, nil
}

func delay(config json.RawMessage) (time.Duration, error) {
	var c struct {
		DelayMS int `json:"delay_ms"`
	}
	if len(config) == 0 {
		return 0, nil
	}
	if err := json.Unmarshal(config, &c); err != nil {
		return 0, failure.New(failure.ConfigInvalid, "echo: %w", err).WithHint("known settings: delay_ms")
	}
	return time.Duration(c.DelayMS) * time.Millisecond, nil
}
