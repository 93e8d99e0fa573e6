// Package agent is the provider "agent": a loop around a model, with tools of its own.
//
// The model asks for a tool; the provider checks what it asks for, asks the kernel, does it, and tells the model. The
// kernel rules on every call, keeps it in its journal, and confines the process.
//
// Start with plugin.go (what the provider says of itself) and config.go (what a user says to it); execute.go puts an
// attempt together out of a model service (package model), the tools (package tool) and the loop (package loop).
package agent
