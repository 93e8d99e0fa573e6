// Command modproxy publishes the modules of the workspace as a release would, all at one version, into a
// directory that the go command can read as a module proxy:
//
//	go run ./tools/modproxy -version v0.1.0 -out DIR                            every module
//	go run ./tools/modproxy -version v0.1.0 -out DIR -module cmd/agent-pipelines that one and what it needs
//	go run ./tools/modproxy -version v0.1.0 -write                              rewrite go.mod files, publish nothing
//
// In the repository the modules find each other by replace directives, with which `go install` refuses a
// module; a released go.mod has none, and requires the others at the released version. The rest of what is
// published is the working tree, as the go command would pack it: no nested module, no vendor directory,
// and the repository's LICENSE for a module that has none.
//
// -write prepares the commit of a release, which carries the tags `<directory>/<version>` of all modules
// and is not merged back. With -out the go command needs GOPROXY=file://DIR in front of its usual
// proxies, and GONOSUMDB (or GOSUMDB=off) for the modules of the repository, since no checksum database
// knows them.
//
// Start with main.go; workspace.go reads the modules, released.go changes their go.mod, proxy.go writes.
package main
