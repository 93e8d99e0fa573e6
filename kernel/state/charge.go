package state

// Amount is a limit or a reservation of money and tokens. A nil member means no limit.
type Amount struct {
	USD    *float64 `json:"usd,omitempty"`
	Tokens *int64   `json:"tokens,omitempty"`
}

// Min returns the smaller of two amounts, member by member.
func (a Amount) Min(b Amount) Amount {
	return Amount{minLimit(a.USD, b.USD), minLimit(a.Tokens, b.Tokens)}
}

// minLimit returns the smaller of two limits; nil means no limit.
func minLimit[N int64 | float64](a, b *N) *N {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// Charge is the consumption of the calls in a scope: attempts, and questions of strategies. A call that did not report
// is charged an estimate, at most its reservation.
type Charge struct {
	USD        float64 `json:"usd,omitempty"`
	Tokens     int64   `json:"tokens,omitempty"`
	Attempts   int     `json:"attempts"`              // calls that ended
	UnknownUSD int     `json:"unknown_usd,omitempty"` // calls that did not report their cost
	// UnknownTokens counts calls that did not report their tokens. HighestUSD and HighestTokens are the highest
	// reported usage of one call.
	UnknownTokens int     `json:"unknown_tokens,omitempty"`
	HighestUSD    float64 `json:"dearest_usd,omitempty"`
	HighestTokens int64   `json:"dearest_tokens,omitempty"`
	// Renewals is the number of times that the user renewed the ceiling.
	Renewals int `json:"renewed,omitempty"`
	// WarnedAt is the number of the event at which the charge reached warn_usd, 0 before.
	WarnedAt int64 `json:"warned_at,omitempty"`
}

// Reservations is the sum of the reservations of calls in flight.
type Reservations struct {
	USD    float64
	Tokens int64
	Calls  int
}
