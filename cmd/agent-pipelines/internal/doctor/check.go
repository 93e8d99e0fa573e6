package doctor

// State says what a [Check] means for a run.
type State string

// The states. Only [Bad] keeps runs from starting.
const (
	OK   State = "ok"
	Note State = "note" // runs can start, but the user should know of it
	Bad  State = "bad"
)

// Check is the result of one inspection.
type Check struct {
	Area  string `json:"area"` // project, provider, plugins, isolation or machine
	Name  string `json:"name"`
	State State  `json:"state"`
	// Result describes the result in a line.
	Result string `json:"found"`
	// Do says what to do, "" for nothing.
	Do string `json:"do,omitempty"`
}
