// Package scaffold writes the module of a new plugin: a program that builds, passes its tests and does something small,
// for its author to change; the folder of a new stage; and the first pipeline of a project.
//
// What is written are the templates below template/: those of module/ for every plugin, those of the kind besides, those of stage/ for a stage and those
// of project/ for a project. In their names dot_ stands for a leading dot, NAME in those of a project for its name, and .tmpl ends; [[ and ]] enclose what is
// filled in. Start with [Write], or with [Place], which puts files among others.
package scaffold
