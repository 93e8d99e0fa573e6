package stubmodel

// pieceRunes is how much text one event of a stream carries: little, so that agents get to put
// texts together.
const pieceRunes = 24

// pieces cuts a text for a stream, between runes.
func pieces(text string) []string {
	var cut []string
	for runes := []rune(text); len(runes) > 0; {
		n := min(pieceRunes, len(runes))
		cut = append(cut, string(runes[:n]))
		runes = runes[n:]
	}
	return cut
}
