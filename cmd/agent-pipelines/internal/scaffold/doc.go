// Package scaffold writes the module of a new plugin: a program that builds, passes its tests and does something small,
// for its author to change. It also writes the directory of a new stage, and a project's first pipeline.
//
// The templates are below template/: module/ for every plugin, one directory for each kind, stage/ for a stage,
// project/ for a project. In their names dot_ stands for a leading dot and NAME for a project's name; the ending
// .tmpl is removed. [[ and ]] enclose variables. Start with [Write], or with [Place], which adds files to a directory.
package scaffold
