// Package tmux starts programs in tmux and finds them there again.
//
// It runs the tmux command for everything and stores nothing: tmux chooses the server
// from its own variables (TMUX, TMUX_TMPDIR). It knows nothing of sessions of pipelines. Start with
// [Find] and [Client.Start].
package tmux
