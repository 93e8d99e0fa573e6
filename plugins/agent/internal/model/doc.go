// Package model asks a model for one reply, over one of two APIs: OpenAI's Chat Completions, which Ollama, LM Studio,
// llama.cpp and vLLM speak as well, and Anthropic's Messages. Both stream, both take tools.
//
// It does not decide what becomes of a reply: package loop does. It does not guess: a model that writes its tool calls
// as text has written text, a count of tokens that the service does not tell is unknown, and arguments that are no JSON
// object come back as they were written, for the model to be told so.
//
// Start with model.go, the words. [New] makes a client of an [Endpoint] (endpoint.go); chat.go and messages.go speak the
// APIs, fault.go puts what goes wrong into the project's words, reach.go keeps connections where the mode allows them to
// go, and retry.go asks again what a moment later may go well.
package model
