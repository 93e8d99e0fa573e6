package judge

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Plugin is the plugin agent-plugin-judge. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{Name: "judge", Version: version, Terminations: []sdk.Termination{New()}}
}
