package wire

// What both ends must agree on before they speak. Cookie and service set never change.
const (
	// CookieKey and CookieValue are the environment variable by which a binary knows that the kernel
	// started it. They are no secret: they only keep people from starting plugins by hand.
	CookieKey   = "AGENT_PIPELINES_PLUGIN_COOKIE"
	CookieValue = "7d8d9c1b5a1e4e0f9a55c7a2b6f4d3e8"
	// LogLevel is the environment variable that says which lines the kernel wants to have on stderr: trace,
	// debug, info, warn, error or off. It stays in the environment, for the children of the plugin.
	LogLevel = "AGENT_PIPELINES_PLUGIN_LOG_LEVEL"
	// Reattach is the environment variable by which a user tells the kernel of plugin processes that run already.
	Reattach = "AGENT_PIPELINES_REATTACH"
	// Protocol is the newest protocol major, and so far the only one.
	Protocol = 1
	// PluginSet is the name under which go-plugin dispenses the connection.
	PluginSet = "agentpipelines"
)
