// Package wordlist finds words and phrases that the project's language avoids.
//
// words.txt holds the expressions, allow.txt the exceptions. Check reads comments, string literals and declared names
// of Go files, the whole text of .yaml files and templates, and the comments of proto files, Makefiles, shell scripts
// and testscripts. It does not read other testdata and the documentation. A sentence of a comment with more than 25
// words is a hit, too. Command words prints the hits.
package wordlist
