// Package graph draws a pipeline: its nodes in their order, what is inside of blocks and embedded pipelines, and where
// each outcome leads. One [Graph] is written as text for a terminal, Mermaid or SVG; all of them say the same.
// Start at [FromPlan]. The functions are pure and safe for concurrent use.
package graph
