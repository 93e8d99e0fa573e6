// Command cover prints what coverage profiles say of each package, and fails if one has less than it should:
//
//	go test -coverpkg=./kernel/... -coverprofile=FILE ./kernel/...
//	go run ./tools/cover -least 90 FILE...
//
// The go command prints how much the tests of a package cover of all packages together. Here it is the other way
// round: how much of a package the tests of all packages cover. What processes cover that tests start, built with
// -cover and GOCOVERDIR in their environment, is another profile, which `go tool covdata textfmt` writes. Packages of
// helpers for tests, and those without a statement, are in a profile like any other.
package main
