// Package steps finds the steps of a node in the artifact that they come from: the items at a path, their ids, and what
// each of them depends on. In which order they are made, package schedule decides. Start with [Planner.Steps].
package steps
