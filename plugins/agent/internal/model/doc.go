// Package model requests one reply from a model, over one of two APIs: OpenAI's Chat Completions, which Ollama, LM
// Studio, llama.cpp and vLLM implement too, and Anthropic's Messages. Both APIs stream and accept tools.
//
// The package does not act on a reply; package loop does. It does not guess: tool calls written as text stay text, an
// unreported token count is unknown, and malformed arguments are returned as the model wrote them.
//
// Start with model.go, the types. [New] makes a client of an [Endpoint] (endpoint.go); chat.go and messages.go
// implement the APIs, and fault.go classifies failures. network.go restricts connections to the addresses that the mode
// allows, and retry.go repeats requests after temporary failures.
package model
