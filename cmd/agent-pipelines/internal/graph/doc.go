// Package graph draws a pipeline: its nodes in their order, the nodes inside of blocks and embedded pipelines, and the
// target of each outcome. One [Graph] is written as text for a terminal, Mermaid or SVG; all formats show the same.
// Start at [FromPlan]. The functions are pure and safe for concurrent use.
package graph
