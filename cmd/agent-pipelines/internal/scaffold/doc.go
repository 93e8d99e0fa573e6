// Package scaffold writes the module of a new plugin: a program that builds, passes its tests and does something small,
// for its author to change; and the folder of a new stage.
//
// What is written are the templates below template/: those of module/ for every plugin, those of the kind besides, and those of stage/ for a stage. In their
// names dot_ stands for a leading dot, and .tmpl ends; [[ and ]] enclose what is filled in. Start with [Write].
package scaffold
