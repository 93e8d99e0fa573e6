package watching

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// drawEvery is the interval at which the screen is redrawn.
const drawEvery = 250 * time.Millisecond

// noteFor is the time that a note is shown instead of the hint.
const noteFor = 4 * time.Second

// actionLimit bounds the time of a pause or an answer.
const actionLimit = 10 * time.Second

// Options configures [Run].
type Options struct {
	Engine  Engine
	Session string
	By      string // name of the user, for the journal
	In      *os.File
	Out     *os.File // a terminal, as In is
	Environ []string // of the process; nil: none
	Color   bool
	Viewer  string // the command that opens files, "" for none
	// Silent turns the notifications of [screen.Notifier] off.
	Silent bool
}

// program is the model of bubbletea: it turns keys into messages and is drawn. It is a value; everything that changes
// without keys is in the feed.
type program struct {
	Options
	ctx    context.Context //nolint:containedctx // of the watching; commands see its end only here
	feed   *feed
	away   *atomic.Bool // another program has the terminal
	now    time.Time
	width  int
	height int

	selection
	help        bool
	note        string
	drawn       drawnNote
	prompt      *prompt
	sure        string // id and digest of the question whose approval must be confirmed
	interrupted bool   // by Ctrl-C
	shown       shown
}

// selection is the selected row, and how far its lines are scrolled.
type selection struct {
	at     tree.Position
	chosen bool // by the user; else the most urgent row is selected
	up     int
}

// drawnNote is the note at the last drawing, and since when it is shown.
type drawnNote struct {
	text  string
	since time.Time
}

// shown is a file that was read.
type shown struct {
	path  string
	lines []string
}

// prompt is an input line about a question.
type prompt struct {
	answer   engine.AnswerOptions // without the text
	feedback bool                 // the text is feedback; else it must be "reject"
	typed    []rune
}

// maxTyped bounds a typed line, in characters.
const maxTyped = 4000

type (
	tick time.Time
	// actionResult is the result of an action.
	actionResult string
)

// Init starts the drawing.
func (p program) Init() tea.Cmd { return next() }

func next() tea.Cmd { return tea.Tick(drawEvery, func(t time.Time) tea.Msg { return tick(t) }) }

// Update handles a message.
func (p program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		p.width, p.height = msg.Width, msg.Height
	case tick:
		p.now = time.Time(msg)
		if p.drawn.text == "" || p.drawn.text != p.note {
			p.drawn = drawnNote{p.note, p.now}
		} else if p.sure == "" && p.now.Sub(p.drawn.since) > noteFor {
			p.note = ""
		}
		if p.feed.failed() != nil {
			return p, tea.Quit
		}
		if calls := p.feed.nextSequences(); calls != "" {
			return p.read(), tea.Batch(next(), tea.Raw(calls))
		}
		return p.read(), next()
	case actionResult:
		p.note = screen.Clean(string(msg))
	case tea.PasteMsg:
		if p.prompt != nil {
			return p.typing("", msg.Content), nil
		}
	case tea.KeyPressMsg:
		return p.key(msg.String(), msg.Key().Text)
	}
	return p, nil
}

// key handles a key; text is its character.
func (p program) key(name, text string) (program, tea.Cmd) {
	switch {
	case name == "ctrl+c":
		p.interrupted = true
		return p, tea.Quit
	case name == "ctrl+z":
		return p, tea.Suspend
	case p.prompt != nil:
		return p.promptKey(name, text)
	}
	sure := p.sure
	p.note, p.sure = "", ""
	switch name {
	case "up", "k":
		return p.move(-1), nil
	case "down", "j":
		return p.move(1), nil
	case "pgup", "ctrl+b":
		p.up += max(p.height/3, 1)
	case "pgdown", "ctrl+f":
		p.up = max(p.up-max(p.height/3, 1), 0)
	case "f", "end", "G":
		p.up = 0
	case "?", "h":
		p.help = !p.help
	case "esc":
		p.help = false
	case "q":
		return p, tea.Quit
	case "p":
		return p, p.act(func(ctx context.Context) (string, error) {
			return "It pauses after the iteration that runs now.", p.Engine.PauseSession(ctx, p.Session, "", p.By)
		})
	case "a":
		return p.approve(sure)
	case "r":
		return p.reject(), nil
	case "o":
		return p.open()
	}
	return p, nil
}

// promptKey edits the input line.
func (p program) promptKey(name, text string) (program, tea.Cmd) {
	switch name {
	case "esc":
		p.prompt = nil
		return p, nil
	case "enter":
		return p.send()
	default:
		return p.typing(name, text), nil
	}
}

// typing changes the input line in a copy.
func (p program) typing(name, text string) program {
	one := *p.prompt
	switch name {
	case "backspace":
		one.typed = slices.Clone(one.typed[:max(len(one.typed)-1, 0)])
	case "ctrl+u":
		one.typed = nil
	default:
		one.typed = append(slices.Clone(one.typed), []rune(screen.Printable(text))...)
		one.typed = one.typed[:min(len(one.typed), maxTyped)]
	}
	p.prompt = &one
	return p
}

// send answers the question of the input line.
func (p program) send() (program, tea.Cmd) {
	one, text := *p.prompt, strings.TrimSpace(string(p.prompt.typed))
	p.prompt = nil
	switch {
	case one.feedback && text != "":
		one.answer.Text = text
	case one.feedback || text != event.AnswerReject:
		p.note = "Nothing was answered."
		return p, nil
	}
	return p, p.answer(one.answer, "rejected")
}

// act performs an action and reports its result.
func (p program) act(do func(ctx context.Context) (string, error)) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(p.ctx, actionLimit)
		defer cancel()
		text, err := do(ctx)
		if err != nil {
			text = err.Error()
		}
		return actionResult(text)
	}
}

// question returns the open question about the selected row, else the oldest open question. The note says why there is
// none that accepts the answer.
func (p program) question(answer, participle string) (id string, q state.Question, note string) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	rows := p.feed.model.Rows(p.now)
	if i := p.index(rows); i >= 0 && len(rows[i].Asks) > 0 {
		rows = []tree.Row{{Asks: rows[i].Asks[:1]}}
	}
	for _, r := range rows {
		for _, a := range r.Asks {
			if asked := p.feed.model.State().Questions[a.ID]; id == "" || asked.AskedAt.Before(q.AskedAt) {
				id, q = a.ID, asked
			}
		}
	}
	switch {
	case id == "":
		note = "Nothing is asked."
	case !slices.Contains(q.Options, answer):
		note = fmt.Sprintf("Question %s cannot be %s; `agent-pipelines questions show %s %s`", id, participle, p.Session, id)
	}
	return id, q, note
}

// approve approves the question after a confirmation.
func (p program) approve(sure string) (program, tea.Cmd) {
	id, q, note := p.question(event.AnswerApprove, "approved")
	if note == "" && sure != id+q.Digest {
		p.sure, note = id+q.Digest, fmt.Sprintf("a again approves %s: %s", id, screen.Clean(q.Text))
	}
	if note != "" {
		p.note = note
		return p, nil
	}
	return p, p.answer(engine.AnswerOptions{Question: id, Answer: event.AnswerApprove, Digest: q.Digest}, "approved")
}

// answer answers a question; participle describes the answer in the note.
func (p program) answer(o engine.AnswerOptions, participle string) tea.Cmd {
	o.Session, o.By = p.Session, p.By
	return p.act(func(ctx context.Context) (string, error) {
		return "Question " + o.Question + " is " + participle + ".", p.Engine.Answer(ctx, o)
	})
}

// reject asks for the feedback, or for the word that ends the session.
func (p program) reject() program {
	id, q, note := p.question(event.AnswerReject, "rejected")
	if note != "" {
		p.note = note
	} else {
		p.prompt = &prompt{answer: engine.AnswerOptions{Question: id, Answer: event.AnswerReject, Digest: q.Digest}, feedback: q.AcceptFeedback}
	}
	return p
}

// index returns the position of the selected row, -1 if there is none.
func (p program) index(rows []tree.Row) int {
	if p.chosen {
		if i := slices.IndexFunc(rows, func(r tree.Row) bool { return r.Position == p.at }); i >= 0 {
			return i
		}
	}
	return tree.Focus(rows)
}

// move selects another row.
func (p program) move(by int) program {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	rows := p.feed.model.Rows(p.now)
	if len(rows) == 0 {
		return p
	}
	r := rows[min(max(p.index(rows)+by, 0), len(rows)-1)]
	p.at, p.chosen, p.up = r.Position, true, 0
	return p
}
