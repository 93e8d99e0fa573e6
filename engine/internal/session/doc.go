// Package session opens, locks, runs, resumes, repairs and removes the sessions of a project, and applies the messages
// that reach them. Package messages sends these messages.
//
// Start with [Supervisor]; [Supervisor.Run] and [Supervisor.Resume] hold a session until it ends or pauses. Inside,
// each type embeds the type before: handle has the lock, the directory and the processes; setup adds the plan and its
// settings; session adds the state and the journal's derived files; run adds the control and the hooks of one run.
package session
