package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// validApprovals is the example of DIALECT B3. faultyApprovals has every fault of approvals.
const (
	validApprovals = `  approvals:
    default: prompt
    categories: {file_read: auto, file_write: prompt, file_delete: skip, directory_create: auto, terminal_command: prompt, external_request: deny}
    rules:
      - {name: tests-are-cheap, operation: file_write, pattern: "**/*_test.go", policy: auto}
      - {name: no-env, operation: file_write, pattern: "!src/**", policy: deny}
      - {operation: terminal_command, pattern: "^git (status|diff)\\b", policy: auto}
      - {pattern: "docs/{a,b}/*.md", policy: skip}
    protected: [".git/**", ".env*"]
`
	faultyApprovals = `  approvals:
    categories: {file_wirte: auto, file_read: alow, file_delete: [x]}
    rules:
      - {operation: file_writes, pattern: "a[", policy: perhaps}
      - {operation: terminal_command, pattern: "a(", policy: auto}
      - {operation: terminal_command, pattern: "!", policy: auto}
      - {operation: file_read}
      - just text
      - {patern: "**/*.go", policy: auto}
      - {pattern: /etc/passwd, policy: deny}
      - {pattern: ../x, policy: deny}
      - {pattern: ./x, policy: deny}
      - {pattern: x/, policy: deny}
      - {pattern: "!", policy: deny}
    protected: ["!x", 3, "a[", /etc/**]
`
)

// U175: all faults of approvals are reported at once, with position and hint.
func TestApprovals(t *testing.T) {
	for name, tt := range map[string]struct {
		approvals string
		want      []string
	}{
		"careful": {validApprovals, []string{}},
		"careless": {faultyApprovals, []string{
			`p.yaml:4:18: error[AP-YAML-104]: unknown category "file_wirte" (did you mean "file_write"? available: directory_create, external_request, file_delete, file_read, file_write, terminal_command)`,
			`p.yaml:4:47: error[AP-YAML-104]: unknown file_read "alow" (available: auto, deny, prompt, skip)`,
			`p.yaml:4:66: error[AP-YAML-101]: file_delete must be text, not a list`,
			`p.yaml:6:21: error[AP-YAML-104]: unknown operation "file_writes" (did you mean "file_write"? available: directory_create, external_request, file_delete, file_read, file_write, terminal_command)`,
			`p.yaml:6:43: error[AP-YAML-220]: pattern "a[" is not a valid glob (* stands for a part of a name, ** for directories, [ab] and {a,b} for one of several)`,
			`p.yaml:6:57: error[AP-YAML-104]: unknown policy "perhaps" (available: auto, deny, prompt, skip)`,
			"p.yaml:7:48: error[AP-YAML-220]: pattern: error parsing regexp: missing closing ): `a(` (write a regular expression in the syntax of Go (RE2); it matches anywhere in the command, ^ and $ are its ends)",
			`p.yaml:8:48: error[AP-YAML-220]: pattern has nothing after ! (write the commands that the rule does not match)`,
			`p.yaml:9:9: error[AP-YAML-102]: a rule has no policy (available: auto, deny, prompt, skip)`,
			`p.yaml:10:9: error[AP-YAML-101]: a rule must be a map with policy, and operation or pattern, not text`,
			`p.yaml:11:10: error[AP-YAML-104]: unknown key "patern" (did you mean "pattern"? available: name, operation, pattern, policy)`,
			`p.yaml:12:19: error[AP-YAML-220]: pattern "/etc/passwd" begins with a slash (paths are relative to the project, such as docs/**)`,
			`p.yaml:13:19: error[AP-YAML-220]: pattern "../x" matches no path (write it without . and .. as elements, relative to the project)`,
			`p.yaml:14:19: error[AP-YAML-220]: pattern "./x" matches no path (write it without . and .. as elements, relative to the project)`,
			`p.yaml:15:19: error[AP-YAML-220]: pattern "x/" ends with a slash, which no path does (write x/** for all files in it)`,
			`p.yaml:16:19: error[AP-YAML-220]: pattern "" is empty (write a glob such as **/*.go)`,
			`p.yaml:17:17: error[AP-YAML-220]: a protected path cannot be negated (name the paths that are protected)`,
			`p.yaml:17:23: error[AP-YAML-101]: a path in protected must be text, not a number`,
			`p.yaml:17:26: error[AP-YAML-220]: a protected path "a[" is not a valid glob (* stands for a part of a name, ** for directories, [ab] and {a,b} for one of several)`,
			`p.yaml:17:32: error[AP-YAML-220]: a protected path "/etc/**" begins with a slash (paths are relative to the project, such as docs/**)`,
		}},
		"rules that are never reached": {`  approvals:
    rules:
      - {operation: file_write, pattern: "**", policy: auto}
      - {operation: file_write, pattern: "src/**", policy: deny}
      - {operation: file_write, policy: prompt}
      - {operation: file_read, pattern: "a/*", policy: deny}
      - {operation: file_read, pattern: "a/*", policy: auto}
      - {operation: terminal_command, pattern: "^git", policy: auto}
      - {operation: terminal_command, pattern: "^git", policy: deny}
      - {pattern: "**", policy: prompt}
      - {operation: terminal_command, pattern: "^make", policy: deny}
      - {operation: file_delete, pattern: "x", policy: deny}
      - {policy: deny}
      - {operation: external_request, policy: auto}
`, []string{
			`p.yaml:6:9: warning[AP-YAML-303]: the rule is never reached: the rule in line 5 matches all of its calls (put it before that rule, or remove it)`,
			`p.yaml:9:9: warning[AP-YAML-303]: the rule is never reached: the rule in line 8 matches all of its calls (put it before that rule, or remove it)`,
			`p.yaml:11:9: warning[AP-YAML-303]: the rule is never reached: the rule in line 10 matches all of its calls (put it before that rule, or remove it)`,
			`p.yaml:14:9: warning[AP-YAML-303]: the rule is never reached: the rule in line 12 matches all of its calls (put it before that rule, or remove it)`,
			`p.yaml:16:9: warning[AP-YAML-303]: the rule is never reached: the rule in line 15 matches all of its calls (put it before that rule, or remove it)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, diagnose(t, "name: p\npolicy:\n"+tt.approvals+"nodes: [{id: a, prompt: x}]\n", nil)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
