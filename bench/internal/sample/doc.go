// Package sample reduces measured numbers to what a table shows: a median, the middle half around it,
// and ratios of things that were measured in turn.
//
// It measures nothing itself. [InTurn] is where to start: it runs subjects alternately, so that
// whatever else the machine does meets all of them alike.
package sample
