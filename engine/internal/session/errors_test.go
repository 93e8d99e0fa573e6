package session

import "testing"

// Only the command lines of a failure are completed; all other texts are journaled unchanged.
func TestCompleteCommands(t *testing.T) {
	const placeholder = "⟨program⟩"
	got := string(completeCommands([]byte(`{"message":"`+placeholder+` x","failure":{"remedy":"say \"go\", then `+placeholder+` list","resume_command":"`+placeholder+` resume s"}}`), "tool"))
	want := `{"message":"` + placeholder + ` x","failure":{"remedy":"say \"go\", then tool list","resume_command":"tool resume s"}}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
