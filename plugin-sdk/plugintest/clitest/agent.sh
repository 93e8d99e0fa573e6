#!/bin/sh
# A fake of an agent's command line; CLI in cli.go lists its variables.
if [ "$1" = --version ]; then
	echo "$FAKE_VERSION"
	exit 0
fi
if [ -n "$FAKE_DIR" ]; then
	cat >"$FAKE_DIR/prompt"
	printf '%s\n' "$@" >"$FAKE_DIR/args"
	env >"$FAKE_DIR/env"
	pwd >"$FAKE_DIR/pwd"
elif [ -n "$FAKE_ECHO" ]; then
	cat
fi
[ -n "$FAKE_STDERR" ] && printf '%s\n' "$FAKE_STDERR" >&2
[ -n "$FAKE_STDOUT" ] && printf '%s' "$FAKE_STDOUT"
[ -n "$FAKE_STREAM" ] && cat "$FAKE_STREAM"
[ -n "$FAKE_HANG" ] && exec sleep 600
[ -n "$FAKE_SIGNAL" ] && kill -"$FAKE_SIGNAL" $$
exit "${FAKE_EXIT:-0}"
