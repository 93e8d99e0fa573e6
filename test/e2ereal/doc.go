// Package e2ereal tests the product with real agent CLIs, the pinned Claude Code and Codex. They are
// installed from npm into a cache and talk to the stub model server on the loopback interface. Their
// own tools write real files. No model, key or account is needed; npm is, once.
//
// One table of scenarios (scenarios_test.go) describes sessions and their results: two stages that pass on a file,
// kill -9 and resume, every failure of the service, signals to the product and to the agent. It also has whole
// sessions (sessions_test.go): a loop, a plan that is refined, a judged stage, Claude Code and Codex in parallel. Two
// tests run it:
//
//   - TestReplay, an ordinary test, builds the product and replaces the CLI by a fake. The fake replays the calls
//     recorded in testdata/calls: the output of the CLI, the files that it wrote, and its end. It needs no npm, network
//     or model.
//   - TestReal, with the build tag e2ereal, uses the real CLIs. With "-args -record" it writes testdata/calls again,
//     without the data that differs between machines. With "-args -smoke" it runs only the few scenarios that show
//     that the CLIs work at all.
//
// TestRealACP drives both CLIs by the Agent Client Protocol, through their adapters from npm. A user answers the
// questions.
//
// TestRealClaude runs Claude Code alone, for behaviour that plugins/claude relies on and that no scenario covers. After
// "make build", from the test module:
//
//	go test -tags e2ereal -count=1 -run TestReal ./e2ereal
//
// On Linux the tests with the tag run in a network namespace that has nothing but the loopback interface (loopback.go).
// They fail if a process tries to reach another machine, also if it only looks up a name.
//
// Environment:
//
//	AGENT_PIPELINES_BIN  the command that TestReal runs; default bin/agent-pipelines of the repository
//	E2E_CACHE            where CLIs are installed; default agent-pipelines/e2e in the user's cache
//	E2E_NETWORK=host     run in the network of the machine, where namespaces are not permitted
//
// The code that needs no CLI (installing, replaying, scrubbing, counting, finding processes) has ordinary tests. Claude
// Code is proprietary: it is installed for a run and never copied into the tree or an image.
package e2ereal
