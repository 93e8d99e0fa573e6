// Package session opens, locks, runs, resumes, repairs and removes the sessions of a project, and applies the messages
// that reach them. Package messages sends these messages.
//
// Start with [Supervisor]; [Supervisor.Run] and [Supervisor.Resume] hold a session until it ends or pauses. Inside,
// handle has a session's name and directory; lease adds its lock, journal and processes; setup has the plan and its
// settings; session has the state and the derived files; run has the control and the hooks of one run. Queries need
// only a handle and a setup.
package session
