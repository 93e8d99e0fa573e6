module github.com/dodo-digital/agent-pipelines/tools

go 1.26.0

