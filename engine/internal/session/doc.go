// Package session opens, locks, runs, resumes, repairs and removes the sessions of a project, and applies the messages
// that reach them. Package messages sends those.
//
// Start with [Supervisor]; [Supervisor.Run] and [Supervisor.Resume] hold a session until it ends or pauses. Inside, each
// type adds to the one before: handle holds the lock, the directory and the processes; setup the plan and its settings;
// session the state and the journal's derived files; run what one run needs.
package session
