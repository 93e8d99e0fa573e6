// Package machine implements the verbs for the machine and the shell: doctor, config, trust, mcp, completion, explain,
// help, man-pages and version.
package machine
