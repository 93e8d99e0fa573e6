// Package orphans counts the remaining processes of trees whose work is cancelled: by a time limit, by the user, by a
// signal, by SIGKILL for the kernel or a plugin, by the program that embeds the engine.
//
// Agents are fakes that start many kinds of descendants (see [orphans/tree]), through each part of the product that
// starts processes: a plugin that forks, an agent's command line, commands of hooks, wrapped commands and queues, and
// the tools of a model. The test finds remaining processes by a word in their arguments or environment in /proc. The
// product does not know that word, so the count does not depend on the product's own search.
//
// The tests are for Linux. Start with TestOrphans; the flag -orphans.cancels sets the number of trials.
package orphans
