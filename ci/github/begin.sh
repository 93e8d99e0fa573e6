#!/usr/bin/env bash
# Says where the session is kept, and at which commit the job began.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/../name.sh"
{
  echo "keep=$RUNNER_TEMP/agent-pipelines-$session"
  echo "base=$(git rev-parse --verify --quiet HEAD || true)"
} >>"$GITHUB_OUTPUT"
