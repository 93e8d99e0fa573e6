// Package deliver is the hook action deliver: it pushes the commit of a deliverable to origin and makes a pull request with gh,
// the command of GitHub. Start with [Action.Run].
package deliver
