package queue

import sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// Plugin is the plugin agent-plugin-queue. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: "queue", Version: version, Terminations: []sdk.Termination{New()}}
}
