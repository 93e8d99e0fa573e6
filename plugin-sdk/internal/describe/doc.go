// Package describe builds the description of a plugin and checks descriptions from other processes.
// Package serve refuses to serve the same descriptions that package client refuses to load.
package describe
