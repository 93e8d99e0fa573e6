// Package sample reduces measured numbers to the table's values: a median, the middle half around
// it, and ratios of alternately measured subjects. Start with [InTurn], which runs subjects
// alternately, so that other load affects all of them alike.
package sample
