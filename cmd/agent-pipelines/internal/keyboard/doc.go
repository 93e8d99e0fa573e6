// Package keyboard reads typed lines, and can stop waiting for one. It knows nothing of questions. Start with
// [Reader].
package keyboard
