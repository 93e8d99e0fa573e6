module github.com/dodo-digital/agent-pipelines/plugin-sdk

go 1.26.0
