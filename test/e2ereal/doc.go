// Package e2ereal tests the product with real agent CLIs, the pinned Claude Code and Codex. They are installed from npm
// into a cache and talk to the stub model server on the loopback interface. Their own tools write real files. No model,
// key or account is needed; npm is, once. Claude Code is proprietary: it is installed for a run and never copied into
// the tree or an image.
//
// One table describes sessions and their results (scenarios_test.go, sessions_test.go). TestReplay, an ordinary test,
// runs it with fakes of the CLIs. TestReal, with the build tag e2ereal, runs it with the CLIs, and TestRealClaude and
// others test more. After "make build", from the test module:
//
//	go test -tags e2ereal -count=1 -run TestReal ./e2ereal
//
// real_test.go has the flags (after -args). Variables are at [CacheDir], [NetworkVariable] and builtProduct. The code
// that needs no CLI (installing, replaying, scrubbing, counting, finding processes) has ordinary tests.
package e2ereal
