// Package wordlist finds words and phrases that the project's language avoids.
//
// words.txt holds the expressions, allow.txt the exceptions. Check reads comments, string literals and declared names
// of Go files, and the whole text of .yaml files and templates. The name of a test counts as text. Of .yml files, proto
// files, Makefiles, Dockerfiles, shell scripts and testscripts it reads the comments. It reads neither other testdata
// nor the documentation. A sentence of a comment with more than 25 words is a hit, too. The command words prints the
// hits.
package wordlist
