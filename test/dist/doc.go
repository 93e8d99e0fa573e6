// Package dist looks at what a release would hand out: what `make snapshot` leaves in dist/. These tests stand behind the build tag
// dist, since that takes minutes and tools of its own; `make dist-check` runs them. Ordinary tests run `make release` in a copy of
// the repository.
package dist
