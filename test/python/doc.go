// Package python holds a provider written in Python and the test that drives it with the Go client,
// through go-plugin and without mutual TLS. It runs by `make proof-python` alone, because it needs
// /usr/bin/python3 with grpcio and protobuf, and protoc 3.15 or later with the Python plugin of gRPC
// (Debian: python3-grpcio python3-protobuf protobuf-compiler protobuf-compiler-grpc).
package python
