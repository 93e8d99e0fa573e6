// Package judge is the termination strategy judge, also called judgment: a stage is done when a judge, a model that
// reads the stage's outputs, says stop several times in a row.
//
// Start with [Strategy.Decide]. The strategy fills the judge's prompt; the kernel calls a provider with it and returns
// the reply. Requests carry the [State]: the stops and the failures in a row. The package calls no model, writes no
// file and keeps no state between calls; it reads the prompt template and the files of a request.
//
// The rules come from the Bash engine, with three corrections: the stops of the judge count, not the agents' stops; a
// missing prompt is an error; a judge that fails too often gets no more questions.
package judge
