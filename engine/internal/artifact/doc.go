// Package artifact finds the artifact that a node's agent made for later nodes, validates it by the node's contract, and
// stores it: a map of plain data in an envelope, as readable YAML.
//
// An agent delivers the artifact by a tool call, in a file, in its result, or in its output ([Sources.Find]). Measured
// values overwrite the agent's ([Fill]). [Faults] and [VerdictOutcome] apply the schema and the verdict; [Write] and
// [Load] store and read artifacts. [FindInput] selects a node's input artifact, [ReadNodeInput] reads its data.
// Package outcome decides the node's outcome.
package artifact
