// Package screen shows a running session on a terminal or in a log.
//
// [Renderer] turns updates of the engine into plain lines; [Plain] writes them as they come, for pipes and log files;
// [Live] writes them above a few lines that it redraws in place, for terminals. [EventLines] writes the events as JSON
// lines. The package decides nothing and reads only the updates.
package screen
