// Package snapshot records states of a workspace as commits of a bare repository outside of it. A snapshot shows what an
// agent changed, whatever the agent says, and gives an earlier state of the files back.
//
// Start with Repository.Record. The repository of the user is neither read nor written, so that a project without git has
// snapshots too. The program git is required.
package snapshot
