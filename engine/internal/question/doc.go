// Package question renders and reads the escalation files that docs/run-files.md describes. The engine writes
// escalations/ESC-<yyyymmddHHMMSS>.yaml in the session's directory; the user or a program answers with
// ESC-….resolution.yaml in the same directory.
//
// [Render] makes the first; package statefile writes it. [Parse] reads the second, strictly: an answer that is
// ignored would leave a run waiting without end. [Read] finds it in a session's directory, [Watch] polls for it. The
// session's owner turns it into the same event as an answer from the command line.
package question
