// Package startup acts before the initialization of other packages, which takes most of a short process's time. It confines
// the process where that is its task. It also raises the first goal of the heap, so that most commands end before their first
// garbage collection. Without that, initialization and the parser collect two or three times, a third of a short command's time.
package startup
