// Package contextstrategy puts together what an agent is told beside its prompt: the sections of a context strategy
// (policy.context), cut to the tokens that a budget leaves for them.
//
// Everything in it comes from the state, the plan, the session's directory and the project: no process is started
// and no clock is read, so that the same run tells its agents the same, byte for byte. Texts of models, people and
// files stand in sections with a name, and what in them looks like the border of a section is changed. Start with
// [Source.Sections] and [Fit].
package contextstrategy
