package failpoint

// The ways in which an armed kernel can be wrong ([Defect]).
const (
	// SkipCommit acts on events that are not written yet.
	SkipCommit = "skip-commit"
	// SkipSync writes the line that names a file before the file is on the disk.
	SkipSync = "skip-sync"
	// SkipDedupe makes calls of tools again that were made before the crash.
	SkipDedupe = "skip-dedupe"
)
