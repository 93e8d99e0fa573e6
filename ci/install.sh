#!/usr/bin/env bash
# Puts agent-pipelines on PATH: the version AP_VERSION, or where none is asked for the one that is there, or else the latest.
set -euo pipefail

if [ -z "${AP_VERSION:-}" ] && command -v agent-pipelines >/dev/null; then
  agent-pipelines version
  exit 0
fi
if ! command -v go >/dev/null; then
  echo "agent-pipelines is not on PATH, and there is no Go to install it with: add a step that brings either" >&2
  exit 13
fi
go install "github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines@${AP_VERSION:-latest}"
bin=$(go env GOBIN)
bin=${bin:-$(go env GOPATH)/bin}
if [ -n "${GITHUB_PATH:-}" ]; then
  echo "$bin" >>"$GITHUB_PATH"
fi
"$bin/agent-pipelines" version
