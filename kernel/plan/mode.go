package plan

// The modes: where the models of a run may be (REQUIREMENTS K4).
const (
	ModeOpen      = "open"       // anywhere; the same as no word
	ModeBurst     = "burst"      // anywhere, with twice the time and twice the attempts
	ModeLocalOnly = "local-only" // on this machine, or where the user's configuration of a provider says is local
	ModeAirgapped = "airgapped"  // the same, and no tool that reaches the network
)

// Modes are all words, the weakest first.
func Modes() []string { return []string{ModeOpen, ModeBurst, ModeLocalOnly, ModeAirgapped} }

// StricterMode is the stricter of two modes; "" says nothing.
func StricterMode(a, b string) string { return stricter(a, b, Modes()) }

// LocalMode reports whether a mode allows local models alone.
func LocalMode(mode string) bool { return mode == ModeLocalOnly || mode == ModeAirgapped }

// DefaultAttempts is how often a plain node's attempt is made in all (K6).
const DefaultAttempts = 2

// patient is the policy under [ModeBurst]: twice the limits of time, and twice the attempts of a plain node.
func (p Policy) inBurst() Policy {
	p.Timeout, p.StageTimeout, p.IdleTimeout = 2*p.Timeout, 2*p.StageTimeout, 2*p.IdleTimeout
	p.Retry = (&Retry{Attempts: 2 * attemptsOf(p.Retry)}).withDefaults(p.Retry)
	return p
}

func attemptsOf(r *Retry) int {
	if r == nil || r.Attempts == 0 {
		return DefaultAttempts
	}
	return r.Attempts
}
