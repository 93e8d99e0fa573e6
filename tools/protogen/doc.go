// Command protogen generates the code of the plugin protocol without protoc:
//
//	go run ./tools/protogen                     write plugin-sdk/internal/wire/pluginv1 and the example's plugin_pb2.py
//	go run ./tools/protogen -check              fail if the committed code differs
//
// It compiles the .proto with protocompile and passes the descriptors to protoc-gen-go and
// protoc-gen-go-grpc, which this module's go.mod pins as tools. Start with main.go.
package main
