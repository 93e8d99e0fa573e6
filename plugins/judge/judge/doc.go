// Package judge is the termination strategy judge, also known as judgment: a stage is done when a judge,
// a model that reads the stage's outputs, says so several times in a row.
//
// Start with [Strategy.Decide]. The strategy is a pure question and answer: it writes the judge's
// prompt, the kernel puts it to a provider and hands the reply back, and what must be remembered (the
// stops in a row, the failures in a row) travels with the requests as [State]. The package calls no
// model, writes no file and keeps nothing between calls; it reads the judge's prompt template and the
// files that a request refers to.
//
// The rules are those of the Bash engine with the repairs that were decided for it: the judge's own
// stops are counted, not those of the agents; a missing prompt is an error; a judge that fails too
// often is not asked any more.
package judge
