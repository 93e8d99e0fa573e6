package store

import "fmt"

// The headers of progress files, to the byte as the Bash engine writes them. Agents append below;
// no header is ever written over what is there.

// EnsureSessionProgress makes a loop's progress file and returns its name.
func (d *Dir) EnsureSessionProgress() (string, error) {
	name := ProgressFile(d.session)
	return name, d.Ensure(name, fmt.Appendf(nil, `# Progress: %s

Verify: (none)

## Codebase Patterns
(Add patterns discovered during implementation here)

---

`, d.session))
}

// EnsureStageProgress makes the progress file of a pipeline's stage and returns its name.
func (d *Dir) EnsureStageProgress(n Node) (string, error) {
	return n.Progress(), d.Ensure(n.Progress(), []byte("# Stage Progress\n\n---\n"))
}

// EnsureProviderProgress makes the progress file of a provider in a parallel block, whose directory
// n is, and returns its name.
func (d *Dir) EnsureProviderProgress(n Node, provider string) (string, error) {
	return n.Progress(), d.Ensure(n.Progress(),
		fmt.Appendf(nil, "# Progress: %s (%s)\n\nProvider: %s\n\n---\n\n", d.session, provider, provider))
}
