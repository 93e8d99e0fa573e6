package stubmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
)

// conversation plays one loaded script and remembers the next turn. It is safe for concurrent use.
type conversation struct {
	program *program

	mu   sync.Mutex
	mark mark
}

// mark is a position in the script: the index of the next turn, and the number of requests that it has answered.
type mark struct {
	turn     int
	answered uint
}

// choice is the answer to one request. Turn numbers count from 1; a side request has none.
type choice struct {
	turn   Turn
	number int
	side   bool
}

// errUsedUp is the fault of a request after the last turn of a strict script.
var errUsedUp = errors.New("the script has no more turns")

// next returns the answer to a request and advances the mark. If the request does not fit, it returns an error and
// the mark stays. A side request does not advance the mark.
func (c *conversation) next(in inbound) (choice, error) {
	values := c.program.values(in.prompt, in.toolResult)
	if c.isSide(in) {
		turn, err := c.program.side.expand(values)
		return choice{turn: turn, side: true}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	place, err := c.program.place(c.mark)
	if err != nil {
		return choice{}, err
	}
	turn := c.program.Turns[place.turn]
	chosen := choice{number: place.turn + 1}
	if err := turn.Expect.check(in, values); err != nil {
		return chosen, fmt.Errorf("turn %d: %w", chosen.number, err)
	}
	if chosen.turn, err = turn.expand(values); err != nil {
		return chosen, fmt.Errorf("turn %d: %w", chosen.number, err)
	}
	c.mark = place.after(turn)
	return chosen, nil
}

func (c *conversation) isSide(in inbound) bool {
	pattern := c.program.sideRE
	return !in.offersTools || pattern != nil && pattern.Match(in.body)
}

// place returns the mark, or the last turn if the mark is after it. With AfterError such a mark is an error.
func (p *program) place(m mark) (mark, error) {
	if m.turn < len(p.Turns) {
		return m, nil
	}
	if p.After == AfterError {
		return m, errUsedUp
	}
	return mark{turn: len(p.Turns) - 1}, nil
}

// after returns the mark after the turn at m has answered one more request.
func (m mark) after(turn Turn) mark {
	m.answered++
	if m.answered >= max(1, turn.Times) {
		return mark{turn: m.turn + 1}
	}
	return m
}

// expand returns the turn with its variables replaced. A variable without a value is an error.
func (t Turn) expand(values map[string]string) (Turn, error) {
	t.Expect = nil // next has checked it before, with quoted values
	text, err := marshal(t)
	if err != nil {
		return Turn{}, fmt.Errorf("expand turn: %w", err)
	}
	expanded, err := replace(string(text), values, jsonEscape)
	if err != nil {
		return Turn{}, err
	}
	var out Turn
	if err := json.Unmarshal([]byte(expanded), &out); err != nil {
		return Turn{}, fmt.Errorf("expand turn: %w", err)
	}
	return out, nil
}

// values returns the script's variables and the values of its captures. A capture takes its value from
// the first text that matches.
func (p *program) values(texts ...string) map[string]string {
	values := maps.Clone(p.Vars)
	if values == nil {
		values = map[string]string{}
	}
	for name, pattern := range p.captures {
		for _, text := range texts {
			if found := pattern.FindStringSubmatch(text); found != nil {
				values[name] = found[1]
				break
			}
		}
	}
	return values
}
