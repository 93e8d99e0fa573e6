// Package keyboard reads typed lines, and can stop waiting for a line. It knows nothing of questions. Start with
// [Reader].
package keyboard
