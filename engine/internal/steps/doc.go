// Package steps finds the steps of a node in the artifact that they come from: the items at a path, their ids and their
// dependencies. Package schedule decides about their order. Start with [Planner.Steps].
package steps
