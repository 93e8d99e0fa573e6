package mock

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Plugin returns the plugin agent-plugin-mock. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{
		Name:         "mock",
		Version:      version,
		Providers:    []sdk.Provider{NewProvider()},
		Terminations: []sdk.Termination{NewStrategy()},
		HookActions:  []sdk.HookAction{NewAction()},
	}
}
