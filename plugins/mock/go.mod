module github.com/dodo-digital/agent-pipelines/plugins/mock

go 1.26.0

require (
	github.com/dodo-digital/agent-pipelines/plugin-sdk v0.1.0
	github.com/google/go-cmp v0.7.0
	go.uber.org/goleak v1.3.0
)

replace github.com/dodo-digital/agent-pipelines/plugin-sdk => ../../plugin-sdk
