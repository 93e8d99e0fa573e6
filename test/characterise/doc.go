// Package characterise records the visible behaviour of the built command, so that no refactoring changes it unnoticed.
//
// A case, testdata/cases/NAME.txtar, holds command lines and the files of a project. TestCharacterise runs them with
// mock agents in a new directory and compares exit codes, output, journals and files, all normalised, with
// testdata/records/NAME.txt. The package starts the command as a user does and imports no other package of this
// repository.
//
// Start at TestCharacterise. case_test.go runs one case, normalise_test.go replaces the texts that differ between two
// runs.
package characterise
