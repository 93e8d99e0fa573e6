// Package cost defines the cost of a program's run, as the program account prints it.
package cost

// Cost is the cost of a process from its start to its end.
type Cost struct {
	// Seconds is the elapsed time from the start of the process to its end.
	Seconds float64 `json:"seconds"`
	// CPU is the processor time of the process and its awaited children, in seconds.
	CPU float64 `json:"cpu"`
	// Peak is the peak resident memory of the process, in bytes.
	Peak float64 `json:"peak"`
}
