// Package keyboard reads lines that a person types, and can stop waiting for one. It knows nothing of what is asked.
// Start with [Reader].
package keyboard
