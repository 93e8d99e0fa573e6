// Package stubmodel is an HTTP server on the loopback interface, for tests: it speaks the API of a
// model service and answers from a script. A real agent CLI can have a whole conversation with it
// without a model, a key or a network: text, tool calls, usage, errors and broken connections.
//
// A test starts a [Server] and gives it a [Script] under a name. It points the agent at
// [Server.Base] of that name and afterwards reads the requests with [Server.Requests]:
//
//	stub := stubmodel.Start(t)
//	err := stub.SetScript("hello", stubmodel.Script{Turns: []stubmodel.Turn{{Text: "Hello."}}})
//	// ANTHROPIC_BASE_URL=stub.Base("hello")
//
// The same server as a command is in cmd/stubmodel; its scripts are the JSON form of [Script].
//
// # Routes
//
// A path may begin with /s/<script>, which chooses the script; without it the script is called
// "default". After that the end of the path decides:
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
// Everything else is answered 404 and recorded with a fault, so that an unexpected call is seen.
// So are a turn's expectation that is not met and a turn that the API cannot express; the agent
// reads the reason in an error of the API it speaks.
//
// # Where to start
//
// script.go declares the script, conversation.go chooses the turn, play.go performs it. Each API
// has files of its own (anthropic*.go, responses*.go, chat*.go; openai.go for what the last two
// share) behind the interface in api.go. The package knows nothing about pipelines and judges no
// answer of the agent beyond a turn's [Expect].
package stubmodel
