// Package agent is the provider "agent": a loop around a model, with its own tools.
//
// The model requests a tool call; the provider checks the call, asks the kernel, runs the call, and reports the result to
// the model. The kernel decides on every call, records it in its journal, and confines the process.
//
// Start with plugin.go (the provider's description) and config.go (its configuration). execute.go builds an attempt from
// a model service (package model), the tools (package tool) and the loop (package loop).
package agent
