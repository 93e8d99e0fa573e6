// Package dist checks the files of a release, which `make snapshot` writes to dist/. These tests have the build tag
// dist, because they take minutes and need additional tools; `make dist-check` runs them. The tests without the tag
// run `make release` in a new repository.
package dist
