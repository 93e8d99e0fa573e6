// Package e2ereal proves the product against a real agent CLI: the pinned Claude Code, installed
// from npm into a cache, talks to the stub model server on the loopback interface, and its own
// tools write real files. No model, key or account is needed; npm is, once.
//
// The tests carry the build tag e2ereal, so that an ordinary run neither skips nor installs
// anything. From the test module, after the product was built:
//
//	go test -tags e2ereal -count=1 -timeout 10m -run TestReal ./e2ereal
//
// TestRealPipeline runs the built command over testdata/project, a pipeline of two stages, with the
// answers of testdata/letter.script.json. TestRealClaude runs the CLI alone and holds it to
// everything that plugins/claude relies on; with "-args -record <dir>" it also writes each run's
// stream there, scrubbed, for use as a fixture.
//
// Environment:
//
//	AGENT_PIPELINES_BIN  the command under test; default bin/agent-pipelines of the repository
//	E2E_CACHE            where CLIs are installed; default agent-pipelines/e2e in the user's cache
//
// What needs no CLI (installing, scrubbing, finding processes) is ordinary code with ordinary tests.
// The CLI is proprietary: it is installed for a run and never copied into the tree or an image.
package e2ereal
