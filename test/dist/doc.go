// Package dist checks the files of a release, which `make snapshot` leaves in dist/. These tests have the build tag dist,
// since they take minutes and need tools of their own; `make dist-check` runs them. Ordinary tests run `make release` in
// a copy of the repository.
package dist
