#!/usr/bin/env bash
# Says where the session is kept, and at which commit the job began.
set -euo pipefail

case ${AP_SESSION:-} in
'' | -* | *[!A-Za-z0-9._-]*)
  echo "::error::the input session needs a name of letters, digits, '.', '_' and '-'"
  exit 2
  ;;
esac
{
  echo "keep=$RUNNER_TEMP/agent-pipelines-$AP_SESSION"
  echo "base=$(git rev-parse --verify --quiet HEAD || true)"
} >>"$GITHUB_OUTPUT"
