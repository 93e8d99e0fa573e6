# Sourced by the others: session is the name of the session, which becomes part of paths.
session=${AP_SESSION:-}
case $session in
'' | -* | *[!A-Za-z0-9_-]*)
  echo "${GITHUB_ACTIONS:+::error::}the session (AP_SESSION) needs a name of letters, digits, '_' and '-'" >&2
  exit 2
  ;;
esac
