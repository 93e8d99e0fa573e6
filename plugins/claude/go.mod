module github.com/dodo-digital/agent-pipelines/plugins/claude

go 1.26.0

require (
	github.com/dodo-digital/agent-pipelines/plugin-sdk v0.1.0
)

replace (
	github.com/dodo-digital/agent-pipelines/plugin-sdk => ../../plugin-sdk
)
