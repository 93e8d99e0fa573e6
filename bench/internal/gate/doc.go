// Package gate compares ratios with recorded ones and reports the ones that have become worse. A ratio
// is of two things that were measured alternately on one machine, so that it is comparable on
// others within the tolerance of its row. Start with [Run].
package gate
