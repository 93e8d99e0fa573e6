#!/usr/bin/env bash
# Reports the session to the workflow: outputs, an annotation, and the question with its possible answers in the summary.
set -euo pipefail

keep=${AP_KEEP:?the directory that keeps the session is missing}
read_in() { head -n 1 "$keep/$1" 2>/dev/null || true; }
session=$(read_in session) status=$(read_in status) question=$(read_in question) code=$(read_in exit_code)

{
  echo "session=$session"
  echo "status=$status"
  echo "question=$question"
  echo "exit_code=$code"
} >>"$GITHUB_OUTPUT"

[ -n "$question" ] || exit 0
echo "::notice title=session '$session' waits for an answer::question $question; run the workflow that resumes it"
stop=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$stop" # an agent's text is not a command
shown=$(agent-pipelines questions show -- "$session" "$question")
printf '%s\n' "$shown"
echo "::$stop::"
{
  echo "### $session waits for an answer"
  echo
  printf '%s\n' "$shown" | sed 's/^/    /'
  echo
} >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
