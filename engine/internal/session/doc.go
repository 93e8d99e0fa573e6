// Package session opens, locks, runs, resumes, repairs and removes the sessions of a project, and applies the messages
// that reach them. Package messages sends those.
//
// Start with [Supervisor]; [Supervisor.Run] and [Supervisor.Resume] hold a session until it ends or pauses.
package session
