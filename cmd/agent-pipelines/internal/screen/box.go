package screen

import "strings"

// boxWidth is the inner width of boxes, as in the Bash engine; with its edges a box has 64 columns.
const boxWidth = 62

// Box frames lines about a whole run. Lines are open to the right, so that a long path can be copied.
func Box(lines ...string) []string {
	rule := strings.Repeat("═", boxWidth)
	out := []string{"╔" + rule + "╗"}
	for _, line := range lines {
		out = append(out, "║  "+line)
	}
	return append(out, "╚"+rule+"╝")
}

// TitledBox frames lines as [Box] does, below a title and a rule.
func TitledBox(title string, lines ...string) []string {
	box := Box(lines...)
	rule := strings.Repeat("═", boxWidth)
	padding := strings.Repeat(" ", max(boxWidth-2-Columns(title), 0))
	head := []string{box[0], "║  " + title + padding + "║", "╠" + rule + "╣"}
	return append(head, box[1:]...)
}

// nodeBox frames the head of a node.
func nodeBox(lines ...string) []string {
	rule := strings.Repeat("─", boxWidth)
	out := []string{"┌" + rule}
	for _, line := range lines {
		out = append(out, "│ "+line)
	}
	return append(out, "└"+rule)
}

// fitFrames shortens frames to width; 0 or less means any width. Terminals wrap texts; wrapped frames are unreadable.
func fitFrames(lines []string, width int) []string {
	if width <= 0 || width > boxWidth+1 {
		return lines
	}
	var all []string
	for _, line := range lines {
		if frame := []rune(line); len(frame) > width && strings.Trim(line, "╔═╗╚╝╠╣┌─└") == "" {
			line = string(frame[:max(width-1, 1)]) + string(frame[len(frame)-1])
		}
		all = append(all, line)
	}
	return all
}
