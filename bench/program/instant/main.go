// Command instant is a plugin whose agent writes one line and ends, so that a measurement shows the cost of the call.
package main

import (
	"context"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

func main() {
	serve.Main(sdk.Plugin{Name: "instant", Version: "1.0.0", Providers: []sdk.Provider{instant{}}})
}

type instant struct{}

func (instant) Describe() sdk.Component {
	return sdk.Component{Name: "instant", Summary: "is done at once", Provider: &sdk.ProviderTraits{Locality: sdk.LocalityLocal}}
}

func (instant) Execute(_ context.Context, _ sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "done at once"})
	return sdk.ExecuteResult{Outcome: sdk.OutcomeSucceeded}, nil
}
