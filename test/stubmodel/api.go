package stubmodel

// api is one model API. An implementation has no state.
type api interface {
	// read returns the parts of a request that scripts and expectations use.
	read(body []byte) (inbound, error)
	// stream returns the answer as the events of a stream.
	stream(a answer) []frame
	// fault returns an error in two forms: as the body of an error answer, and as the event that breaks off a stream.
	fault(f fault) (body any, last frame)
}

// answer is a complete message, independent of an API.
type answer struct {
	number int // number of the request, from which ids are made
	in     inbound
	turn   Turn
}

// fault is an error of the service. Empty texts mean the defaults of the status.
type fault struct {
	status  int
	kind    string
	message string
	id      string // id of the request
	broken  answer // answer of the interrupted stream
	sent    int    // number of events sent before the interruption
}

// frame is one event of a stream.
type frame struct {
	event string // its name, "" if the API has no names
	data  any    // sent as JSON
	plain string // sent unchanged instead of data, unless empty
}

// payload is the text after "data: ".
func (f frame) payload() []byte {
	if f.plain != "" {
		return []byte(f.plain)
	}
	return mustMarshal(f.data)
}

// pieceRunes is the maximum length of a text in one event of a stream, in runes. It is small, so that agents have to
// join texts.
const pieceRunes = 24

// pieces cuts a text into pieces for the events of a stream, between runes.
func pieces(text string) []string {
	var cut []string
	for runes := []rune(text); len(runes) > 0; {
		n := min(pieceRunes, len(runes))
		cut = append(cut, string(runes[:n]))
		runes = runes[n:]
	}
	return cut
}
