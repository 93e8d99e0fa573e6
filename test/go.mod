module github.com/dodo-digital/agent-pipelines/test

go 1.26.0

