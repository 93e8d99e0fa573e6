// Package orphans counts the remaining processes of trees whose work is cancelled: by a time limit, by the user, by a
// signal, by SIGKILL for the kernel or a plugin, by the program that embeds the engine.
//
// Agents are fakes that start every kind of descendant there is (see [orphans/tree]), by each path in the product
// that starts processes: a plugin that forks, an agent's command line, commands of hooks and queues, and the tools of
// a model. Remaining processes are counted by searching /proc for a word in the arguments of all these processes.
// The product knows nothing of that word: it is not found by what it finds itself.
//
// The tests are for Linux. They begin with TestOrphans; the flag -orphans.cancels says how many there are to be.
package orphans
