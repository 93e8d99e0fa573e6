// Package gate compares ratios with recorded ones and reports the ones that have become worse. Each
// ratio compares two things that were measured alternately on one machine. So it can be compared with
// that of another machine within the tolerance of its row. Start with [Run].
package gate
