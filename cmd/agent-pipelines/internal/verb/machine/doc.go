// Package machine has the verbs for the machine and the shell: doctor, config, trust, mcp, completion, help, version.
package machine
