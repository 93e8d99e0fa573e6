// Package ci holds the test of the templates for continuous integration: the steps of action.yml and of the GitLab jobs, run by
// bash in fresh clones of a repository, as their systems run them. What those systems do themselves (expressions, artifacts)
// the test does in their place, as far as the templates use it.
package ci
