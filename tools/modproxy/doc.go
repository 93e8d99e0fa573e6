// Command modproxy publishes the modules of the workspace at one version into a directory that the
// go command can read as a module proxy, as a release would:
//
//	go run ./tools/modproxy -version v0.1.0 -out DIR                            all modules
//	go run ./tools/modproxy -version v0.1.0 -out DIR -module cmd/agent-pipelines one and its dependencies
//	go run ./tools/modproxy -version v0.1.0 -write                              rewrite go.mod files only
//
// In the repository the modules use replace directives, which `go install` refuses. A released
// go.mod requires the other modules at the released version instead. The rest is the working tree,
// with the repository's LICENSE for a module without one.
//
// -write prepares the release commit, which has the tags `<directory>/<version>` and is not merged
// back. For -out, set GOPROXY=file://DIR before other proxies, and GONOSUMDB for our modules.
package main
