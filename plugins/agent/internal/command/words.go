package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// MaxLine limits a command line, in bytes (REQUIREMENTS C6).
const MaxLine = 8192

// RefusedError is the reason why a command does not run.
type RefusedError struct{ Reason string }

// Error implements error.
func (e *RefusedError) Error() string { return "command not allowed: " + e.Reason }

func refuse(format string, args ...any) error {
	return &RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// SplitWords returns the program and the arguments of a line that is one simple command of literal words. For any other
// line the error is a [*RefusedError].
func SplitWords(line string) ([]string, error) {
	if err := checkPrintable(line); err != nil {
		return nil, err
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, refuse("it cannot be parsed: %v", err)
	}
	call, err := singleCommand(file)
	if err != nil {
		return nil, err
	}
	words := make([]string, len(call.Args))
	for i, word := range call.Args {
		if words[i], err = literalText(word); err != nil {
			return nil, err
		}
	}
	return words, nil
}

// checkPrintable refuses long lines, line breaks, and characters that a user cannot see in an approval.
func checkPrintable(line string) error {
	switch {
	case len(line) > MaxLine:
		return refuse("it is longer than %d bytes", MaxLine)
	case !utf8.ValidString(line):
		return refuse("it is not UTF-8")
	case strings.ContainsAny(line, "\n\r"):
		return refuse("it has a line break; run one command at a time")
	}
	for _, r := range line {
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return refuse("it has the character %U, which cannot be seen", r)
		}
	}
	return nil
}

const oneProgram = "run one program with its arguments; commands run without a shell"

// singleCommand returns the only command of the line.
func singleCommand(file *syntax.File) (*syntax.CallExpr, error) {
	if len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, refuse("it is not one command; %s", oneProgram)
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	switch {
	case len(stmt.Redirs) > 0:
		return nil, refuse("it redirects input or output; the output is returned anyway")
	case !ok || len(call.Assigns) > 0 || len(call.Args) == 0 || len(stmt.Comments) > 0 ||
		stmt.Semicolon.IsValid() || stmt.Background || stmt.Coprocess || stmt.Disown || stmt.Negated:
		return nil, refuse("it has an operator (; & | !), a variable or a comment; %s", oneProgram)
	}
	return call, nil
}

// literalText returns the text of a word without expansions.
func literalText(word *syntax.Word) (string, error) {
	var b, unquoted strings.Builder
	for i, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if err := checkUnquoted(p.Value, i == 0); err != nil {
				return "", err
			}
			b.WriteString(p.Value)
			unquoted.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", refuse("it has $'...'; use plain quotes")
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			text, err := quotedText(p)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		default:
			return "", refuse("it has an expansion ($, a backtick, or a pattern); %s", oneProgram)
		}
	}
	if text := unquoted.String(); strings.Contains(text, "{") && (strings.Contains(text, ",") || strings.Contains(text, "..")) {
		return "", refuse("it has braces that a shell would expand; quote them, or write each word")
	}
	return b.String(), nil
}

// checkUnquoted refuses unquoted text that a shell would expand or strip.
func checkUnquoted(text string, first bool) error {
	switch {
	case strings.ContainsAny(text, "*?["):
		return refuse("it has a pattern (* ? [) that no shell expands; name the files, or quote it for the program itself")
	case strings.Contains(text, `\`):
		return refuse("it has a backslash outside quotes; use quotes")
	case strings.ContainsAny(text, "$`;&|<>"):
		return refuse("it has an operator or an expansion; %s", oneProgram)
	case first && strings.HasPrefix(text, "~"):
		return refuse("~ is a home directory, which is outside the workspace")
	}
	return nil
}

// quotedText returns the text in double quotes.
func quotedText(q *syntax.DblQuoted) (string, error) {
	if q.Dollar {
		return "", refuse(`it has $"..."; use plain quotes`)
	}
	var b strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", refuse("it has an expansion in double quotes; use single quotes for a literal $")
		}
		b.WriteString(unescape(lit.Value))
	}
	return b.String(), nil
}

// unescape removes the backslashes that a shell removes within double quotes.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\", text[i+1]) >= 0 {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// JoinWords returns the canonical line of the words: a shell would split it into the same words, with few quotes.
func JoinWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		text, err := syntax.Quote(word, syntax.LangBash)
		if err != nil || strings.HasPrefix(text, "$'") {
			text = "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
		}
		quoted[i] = text
	}
	return strings.Join(quoted, " ")
}
