// Package dist looks at what a release would hand out: what `make snapshot` leaves in dist/. Its tests stand behind the build tag
// dist, since that takes minutes and tools of its own; `make dist-check` runs them.
package dist
