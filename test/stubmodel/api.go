package stubmodel

// api is one model API. An implementation has no state.
type api interface {
	// read returns the parts of a request that scripts and expectations use.
	read(body []byte) (inbound, error)
	// stream is the answer as the events of a stream.
	stream(a answer) []frame
	// fault is an error: as the body of an error answer, and as the event that breaks a stream off.
	fault(f fault) (body any, last frame)
}

// answer is a complete message to be put into an API's words.
type answer struct {
	number int // the request's, from which ids are made
	in     inbound
	turn   Turn
}

// fault is an error of the service. Empty texts mean the defaults of the status.
type fault struct {
	status  int
	kind    string
	message string
	id      string // the request's
	broken  answer // the interrupted stream
	sent    int    // events of it
}

// frame is one event of a stream.
type frame struct {
	event string // its name; empty: the API names none
	data  any    // becomes JSON
	plain string // sent as it is in place of data, unless empty
}

// payload is the text after "data: ".
func (f frame) payload() []byte {
	if f.plain != "" {
		return []byte(f.plain)
	}
	return mustMarshal(f.data)
}

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
