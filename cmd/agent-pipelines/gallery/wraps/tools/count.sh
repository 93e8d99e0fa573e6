# Reads {"sentence": "…"} and prints {"words": N}. Messages for the user go to standard error.
text=$(sed 's/.*"sentence" *: *"\([^"]*\)".*/\1/')
echo "counting: $text" >&2
printf '{"words": %d}\n' "$(echo "$text" | wc -w)"
