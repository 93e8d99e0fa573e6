// Package e2ereal tests the product with real agent CLIs, the pinned Claude Code and Codex. They are
// installed from npm into a cache and talk to the stub model server on the loopback interface. Their
// own tools write real files. No model, key or account is needed; npm is, once.
//
// One table of scenarios (scenarios_test.go) says how sessions go and what a user finds afterwards: two
// stages that hand on a file, kill -9 and resume, every failure of the service, signals to the product
// and to the agent; and whole sessions (sessions_test.go): a loop, a plan that is refined, a judged stage,
// Claude Code and Codex side by side. It is run twice:
//
//   - TestReplay, an ordinary test, builds the product and puts a fake into the CLI's place, which
//     plays the calls recorded in testdata/calls: what the CLI wrote to its streams and into files, and
//     how it ended. It needs no npm, network or model.
//   - TestReal, with the build tag e2ereal, uses the real CLIs. With "-args -record" it writes
//     testdata/calls again, scrubbed of what differs from machine to machine; with "-args -smoke" it runs
//     only the few that show that the CLIs work at all.
//
// TestRealACP drives both through the Agent Client Protocol, by the adapters that npm has for them, with a user who
// answers their questions.
//
// TestRealClaude runs Claude Code alone, for what plugins/claude relies on and no scenario has. After
// "make build", from the test module:
//
//	go test -tags e2ereal -count=1 -run TestReal ./e2ereal
//
// On Linux the tests with the tag run in a network namespace that has nothing but the loopback interface
// (loopback.go); they fail when anything tried to reach another machine, name look-ups included.
//
// Environment:
//
//	AGENT_PIPELINES_BIN  the command that TestReal runs; default bin/agent-pipelines of the repository
//	E2E_CACHE            where CLIs are installed; default agent-pipelines/e2e in the user's cache
//	E2E_NETWORK=host     run in the network of the machine, where namespaces are not permitted
//
// What needs no CLI (installing, standing in, scrubbing, counting, finding processes) is ordinary code with
// ordinary tests. Claude Code is proprietary: it is installed for a run and never copied into the tree or
// an image.
package e2ereal
