// Package locate says where in a pipeline the events of a session happened: at which node, in which visit of it, of which
// provider or step. It is for readers of a whole journal, in order; [Locator] is where to start.
package locate
