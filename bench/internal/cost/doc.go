// Package cost is what a run of a program took, as the program account tells it.
package cost

// Cost is what a process took from its start to its end.
type Cost struct {
	Seconds float64 `json:"seconds"`
	// CPU is the processor time in seconds, of it and of its children that it waited for.
	CPU float64 `json:"cpu"`
	// Peak is the most memory that it had resident, in bytes.
	Peak float64 `json:"peak"`
}
