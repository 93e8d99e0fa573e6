module github.com/dodo-digital/agent-pipelines/kernel

go 1.26.0

require (
	github.com/dodo-digital/agent-pipelines/plugin-sdk v0.1.0
	github.com/google/go-cmp v0.7.0
	github.com/hashicorp/go-plugin v1.8.0
	golang.org/x/sys v0.49.0
	gopkg.in/yaml.v3 v3.0.1
	pgregory.net/rapid v1.3.0
)

require (
	github.com/charmbracelet/x/ansi v0.11.9 // indirect
	github.com/clipperhouse/displaywidth v0.11.0 // indirect
	github.com/clipperhouse/uax29/v2 v2.7.0 // indirect
	github.com/hashicorp/go-hclog v1.6.3
	github.com/lucasb-eyer/go-colorful v1.4.1 // indirect
	github.com/mattn/go-runewidth v0.0.27 // indirect
	go.uber.org/goleak v1.3.0
)

replace github.com/dodo-digital/agent-pipelines/plugin-sdk => ../plugin-sdk
