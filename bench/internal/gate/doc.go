// Package gate compares ratios with recorded ones and says which have become worse. It knows no times: a ratio is of two
// things that were measured in turn on one machine, so it says something on another one too, as far as the room of its row goes.
//
// It measures nothing itself. [Run] is where to start.
package gate
