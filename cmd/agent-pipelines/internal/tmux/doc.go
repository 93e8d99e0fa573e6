// Package tmux starts programs in tmux and finds them there again.
//
// It runs the tmux command for everything and keeps nothing: which server is spoken to, tmux finds out
// from its own variables (TMUX, TMUX_TMPDIR). It knows nothing of sessions of pipelines. Start with
// [Find] and [Client.Start].
package tmux
