// Command protogen writes the code of the plugin protocol, without protoc:
//
//	go run ./tools/protogen                     write plugin-sdk/internal/wire/pluginv1 and the example's plugin_pb2.py
//	go run ./tools/protogen -check              fail if what is committed differs
//	go run ./tools/protogen -breaking old.proto fail if the protocol breaks who speaks old.proto
//
// It compiles the .proto with protocompile and hands the descriptors to protoc-gen-go and
// protoc-gen-go-grpc, the versions that go.mod of this module pins as tools. Start with main.go;
// breaking.go holds the rules of what may change.
package main
