// Package question renders and reads the escalation files that docs/run-files.md describes. The engine writes
// escalations/ESC-<yyyymmddHHMMSS>.yaml in the session's directory; the user or a program answers with
// ESC-….resolution.yaml in the same directory.
//
// [Render] makes the escalation file; package statefile writes it. [Parse] reads a resolution strictly, because an
// ignored answer would leave a run waiting without end. [Read] reads the resolution file in a session's directory, and
// [Watch] polls for it. The session's owner turns a resolution into the same event as an answer from the command line.
package question
