// Package stubmodel is an HTTP server on the loopback interface, for tests. It has the APIs of model services and
// answers from a script: with text, tool calls, usage, errors and broken connections. A real agent CLI can have a
// whole conversation with it without a model, a key or a network.
//
// A test starts a [Server] and loads a [Script] under a name. It directs the agent to [Server.Base] of that name and
// afterwards reads the requests with [Server.Requests]:
//
//	stub := stubmodel.Start(t)
//	err := stub.SetScript("hello", stubmodel.Script{Turns: []stubmodel.Turn{{Text: "Hello."}}})
//	// ANTHROPIC_BASE_URL=stub.Base("hello")
//
// The command in cmd/stubmodel runs the same server; its scripts are the JSON form of [Script].
//
// # Routes
//
// A path may begin with /s/<script>, which chooses the script. Without this prefix the script is "default". The end
// of the path determines the answer:
//
//	POST /v1/messages               Anthropic Messages, streamed or whole, answered by the next turn
//	POST /v1/messages/count_tokens  a quarter of the body's length
//	POST /responses                 OpenAI Responses, streamed
//	POST /chat/completions          OpenAI Chat Completions, streamed
//	GET  /responses                 426 to a client that wants a WebSocket, so that it continues with POST
//	GET  /models                    an empty list
//	GET, HEAD /                     200
//	PUT  /__stub/script/<name>      loads a script and resets its turns
//	GET  /__stub/requests           the recorded requests; ?script=<name> for those of one script
//
// Every other request is answered 404 and recorded with a fault, so that a test finds an unexpected call. An
// expectation that is not met and a turn that the API cannot express are also faults. The agent receives the reason
// as an error of its API.
//
// # Where to start
//
// script.go declares the script, conversation.go chooses the turn, play.go sends it. Each API has its own files
// behind the interface in api.go: anthropic*.go, responses*.go, chat*.go, and openai.go for the shared parts of the
// last two. The package does not know pipelines. It checks the agent's requests only by a turn's [Expect].
package stubmodel
