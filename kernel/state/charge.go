package state

// Amount is money and tokens. A member is nil where it is not limited.
type Amount struct {
	USD    *float64 `json:"usd,omitempty"`
	Tokens *int64   `json:"tokens,omitempty"`
}

// Within is the smaller of two amounts, member by member.
func (a Amount) Within(b Amount) Amount {
	return Amount{minLimit(a.USD, b.USD), minLimit(a.Tokens, b.Tokens)}
}

// Allowance is what the call that the loop makes may consume: the least that is set aside for it in any scope; nil where
// no ceiling holds.
func (l Loop) Allowance() *Amount {
	var a Amount
	for _, part := range l.Reserved {
		a = a.Within(part)
	}
	if a == (Amount{}) {
		return nil
	}
	return &a
}

// least is the smaller one of two limits, of which nil is none.
func minLimit[N int64 | float64](a, b *N) *N {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// Charge is what attempts in a scope have consumed. Those that did not say count as what was reserved for them.
type Charge struct {
	USD        float64 `json:"usd,omitempty"`
	Tokens     int64   `json:"tokens,omitempty"`
	Attempts   int     `json:"attempts"`              // that ended
	UnknownUSD int     `json:"unknown_usd,omitempty"` // attempts that did not say what they cost
	// UnknownTokens are attempts that did not say how many tokens they took.
	UnknownTokens int     `json:"unknown_tokens,omitempty"`
	DearestUSD    float64 `json:"dearest_usd,omitempty"`
	DearestTokens int64   `json:"dearest_tokens,omitempty"`
	// Renewed is how often a person allowed the ceiling once more.
	Renewed int `json:"renewed,omitempty"`
	// WarnedAt is the number of the event with which warn_usd was passed, 0 before.
	WarnedAt int64 `json:"warned_at,omitempty"`
}
