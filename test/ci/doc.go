// Package ci holds the test of the templates for continuous integration: the steps of action.yml and of the GitLab jobs,
// run by bash in fresh clones of a repository, as their systems run them. The test itself evaluates expressions and
// moves artifacts as these systems do, as far as the templates need it.
package ci
