package attempt

import (
	"encoding/json"
	"fmt"
	"strings"
)

// faultReport describes the faults of the previous artifact for the agent, one JSON object per line; "" without
// faults.
func (a *attempt) faultReport() string {
	faults := a.loop().Faults
	if len(faults) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("The artifact of the last attempt is not what the contract says. Make all of it again, without these faults:\n")
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, f := range faults {
		if err := e.Encode(f); err != nil { // three strings always encode
			panic(fmt.Sprintf("render a fault: %v", err))
		}
	}
	for _, name := range []string{a.iteration.ArtifactCall(), a.iteration.Artifact(), a.iteration.ArtifactJSON()} {
		if info, err := a.Dir.Stat(a.supersededPath(name)); err == nil && info.Mode().IsRegular() {
			fmt.Fprintf(&b, "What it left is in %s\n", a.Dir.Abs(a.supersededPath(name)))
			break
		}
	}
	return b.String()
}
