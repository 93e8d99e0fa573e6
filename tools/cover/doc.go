// Command cover prints the coverage of each package and fails if a package is below a minimum:
//
//	go test -coverpkg=./kernel/... -coverprofile=FILE ./kernel/...
//	go run ./tools/cover -least 90 FILE...
//
// Unlike the go command, it prints the part of a package that the tests of all packages cover.
// Processes that tests start write another profile, if they are built with -cover and have
// GOCOVERDIR; `go tool covdata textfmt` converts it.
package main
