// Package firstheap raises the first goal of the heap, so that most commands end before their first garbage collection.
// Without it, initialization and the parser collect two or three times, which takes a third of a short command's time.
package firstheap
