package mock

import (
	_ "embed" // the schemas of the components

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/schema"
)

// The JSON Schemas of the components. They hold the rules for single values. Rules that concern several values are in
// the code.
var (
	//go:embed schema/provider.json
	providerSchema []byte
	//go:embed schema/termination.json
	strategySchema []byte
	//go:embed schema/hook_action.json
	actionSchema []byte

	providerRules, strategyRules, actionRules = schema.New(providerSchema), schema.New(strategySchema), schema.New(actionSchema)
)
