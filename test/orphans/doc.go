// Package orphans counts what is left of process trees when their work is cancelled: by a time limit, by a person, by a
// signal, by SIGKILL for the kernel or a plugin, by the program that embeds the engine.
//
// Agents are stand-ins that start every kind of descendant there is (see [orphans/tree]), through each way in which the
// product starts processes: a plugin that forks by itself, an agent's command line, commands of hooks and queues, and the
// tools of a model. What is left is counted by looking through /proc for a word in the arguments of all these processes.
// The product knows nothing of that word: it is not found by what it finds itself.
//
// The tests are for Linux. They begin with TestOrphans; the flag -orphans.cancels says how many there are to be.
package orphans
