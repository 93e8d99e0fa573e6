// Package ci tests the templates for continuous integration. It runs the steps of action.yml and of the GitLab jobs
// with bash in fresh clones of a repository, as GitHub and GitLab run them. The test itself evaluates expressions and
// moves artifacts as these systems do, as far as the templates need it.
package ci
