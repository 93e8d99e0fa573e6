// Command agent-plugin-serial serves the provider "serial": the mock, which declares that it takes one
// call at a time. The scripts of the command's tests use it.
package main

import (
	"github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
	"github.com/dodo-digital/agent-pipelines/plugins/mock/mock"
)

type provider struct{ *mock.Provider }

// Describe implements [sdk.Provider].
func (p provider) Describe() sdk.Component {
	c := p.Provider.Describe()
	c.Name, c.Concurrency = "serial", sdk.ConcurrencySerial
	return c
}

func main() {
	serve.Main(sdk.Plugin{Name: "serial", Version: "0.0.0", Providers: []sdk.Provider{provider{mock.NewProvider()}}})
}
