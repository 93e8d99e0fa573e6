// Package gate compares measured ratios with recorded ones and reports the ratios that have become worse: see [Run].
//
// The two sides of a ratio are measured alternately on one machine. Therefore ratios of different machines are
// comparable within the tolerance of their row.
package gate
