// Package clitest helps to test a provider that drives an agent's command line. [CLI] is a fake of the command line.
// [Streams] plays recorded streams of the real agent to the provider and compares the messages that the kernel receives
// with golden files.
//
//	var update = flag.Bool("update", false, "rewrite the golden files")
//
//	func TestStreams(t *testing.T) {
//		clitest.Streams{
//			New: func(tb testing.TB) sdk.Provider {
//				env := clitest.CLI{Name: "claude", Version: "9.8.7 (Claude Code)"}.Environ(tb)
//				return New(func() []string { return env })
//			},
//			ExitCodes: map[string]int{"login": 1},
//			Update:    *update,
//		}.Run(t)
//	}
//
// The fake is a shell script that takes any arguments. Variables of its environment, usually of the
// request, select its actions, in this order:
//
//	FAKE_VERSION  printed for --version, and nothing else is done then; set by Environ
//	FAKE_DIR      a directory in which it records its call, see ReadCall
//	FAKE_ECHO     not empty: it prints its stdin (unless FAKE_DIR is set)
//	FAKE_STDERR   a text for stderr; a newline is added
//	FAKE_STDOUT   a text for stdout
//	FAKE_STREAM   a file whose content goes to stdout
//	FAKE_HANG     not empty: it does not end
//	FAKE_SIGNAL   the name of a signal that it sends itself ("KILL")
//	FAKE_EXIT     its exit code; default 0
package clitest
