// Package gate compares measured ratios with recorded ratios and reports the worse ones. Start with [Run].
//
// The two sides of a ratio are measured alternately on one machine. Therefore ratios of different machines are
// comparable within the tolerance of their row.
package gate
