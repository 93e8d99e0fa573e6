#!/usr/bin/env bash
# Runs or resumes a session in the foreground, and writes into the directory AP_KEEP how it stands: session, status, question and
# exit_code, a file each. It ends with 0 unless nothing could be run at all; the caller reads exit_code.
#
#   AP_PIPELINE, AP_STAGE   what is run: one of them
#   AP_SESSION              the session's name
#   AP_REQUEST              the work to do, for a pipeline that takes a request
#   AP_ARGS                 further flags of the verb, one a line
#   AP_RESUME               true: resume the session instead
#   AP_ANSWER               with AP_RESUME: approve or reject, the answer to the question that is open
#   AP_QUESTION             its id; default: the one that is open
#   AP_TEXT                 with approve text for the next prompts, with reject feedback
set -euo pipefail

fail() {
  echo "$1" >&2
  exit 2
}

. "$(dirname "${BASH_SOURCE[0]}")/name.sh"
keep=${AP_KEEP:?the directory that keeps the session is missing}
mkdir -p "$keep"
rm -f "$keep/session" "$keep/status" "$keep/question" "$keep/exit_code" # of an earlier job
export CI=true

flags=()
while IFS= read -r flag; do
  [ -z "$flag" ] || flags+=("$flag")
done <<<"${AP_ARGS:-}"

answer() {
  local words=("$session")
  [ -z "${AP_QUESTION:-}" ] || words+=("$AP_QUESTION")
  case $AP_ANSWER in
  approve) agent-pipelines approve ${AP_TEXT:+"--context=$AP_TEXT"} -- "${words[@]}" ;;
  reject) agent-pipelines reject ${AP_TEXT:+"--feedback=$AP_TEXT"} -- "${words[@]}" ;;
  *) fail "the answer is '$AP_ANSWER': write approve or reject" ;;
  esac
}

run() {
  if [ "${AP_RESUME:-false}" = true ]; then
    if [ -n "${AP_ANSWER:-}" ]; then
      answer || return
    fi
    if [ "$(field status)" = aborted ]; then # by a rejection without feedback
      return 23
    fi
    watched resume ${flags[@]+"${flags[@]}"} -- "$session"
  elif [ -n "${AP_STAGE:-}" ]; then
    watched loop --foreground ${AP_REQUEST:+"--context=$AP_REQUEST"} ${flags[@]+"${flags[@]}"} -- "$AP_STAGE" "$session"
  elif [ -n "${AP_PIPELINE:-}" ]; then
    watched pipeline --foreground ${AP_REQUEST:+"--context=$AP_REQUEST"} ${flags[@]+"${flags[@]}"} -- "$AP_PIPELINE" "$session"
  else
    fail "neither a pipeline nor a stage is named"
  fi
}

# field is a text of the session's status, "" where it has none.
field() {
  { agent-pipelines status --json -- "$session" 2>/dev/null || true; } | sed -n "s/^  \"$1\": \"\(.*\)\",*\$/\1/p" | sed -n 1p
}

# question is the id of the unanswered question.
question() {
  { agent-pipelines questions list --json -- "$session" 2>/dev/null || true; } | sed -n 's/^ *"id": "\(q-[0-9a-f]*\)",*$/\1/p' | sed -n 1p
}

# report writes the session's state at the end, however the script ends.
tell() {
  local code=$?
  printf '%s\n' "$session" >"$keep/session"
  field status >"$keep/status"
  question >"$keep/question"
  printf '%s\n' "${ended:-$code}" >"$keep/exit_code"
}
trap tell EXIT

# watched runs the command and passes it the signals that this script gets: a cancelled job signals its first process
# alone. The
# first one pauses the session after its iteration, the second one at once.
watched() {
  agent-pipelines "$@" &
  local child=$! code
  trap 'kill -TERM "$child" 2>/dev/null || true' INT TERM HUP
  while :; do
    code=0
    wait "$child" || code=$?
    [ "$code" -gt 128 ] && kill -0 "$child" 2>/dev/null || break # else a signal ended the wait
  done
  trap - INT TERM HUP
  return "$code"
}

run && ended=0 || ended=$?
