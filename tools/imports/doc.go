// Package imports keeps the walls between the rooms of agent-pipelines standing.
//
// It reads the source of every module of the workspace, under all build tags and for all systems, and
// reports what the compiler allows and the house does not: an import that points up ([Walls]), a ring
// of rooms, a second reader of YAML ([Singles]), a goroutine without an owner or a variable that is
// written at package level ([Rules]), a text that names somebody's machine. Each finding says why
// the rule exists, so that whoever meets it can decide whether the code or the rule is wrong.
//
// Start with the table in walls.go. The checks run as this package's tests; it is no command.
package imports
