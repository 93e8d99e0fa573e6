// Package launch makes a verified binary into a plugin that answers.
//
// [Launcher.Start] starts the process (package process), lets go-plugin shake hands, connects, checks
// the other end of the socket and asks for a sign of life. Whatever goes wrong on the way becomes a
// failure that says which file, what it did and what to do about it; nothing takes longer than the
// start timeout. An [Instance] is the running plugin: its client, its end, its last words.
package launch
