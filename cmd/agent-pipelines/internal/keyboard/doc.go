// Package keyboard reads typed lines, and can stop waiting for one. It knows nothing of the questions. Start with
// [Reader].
package keyboard
