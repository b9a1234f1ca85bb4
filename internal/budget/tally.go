package budget

// Tally charges what is collected bit by bit. The zero value is empty.
type Tally struct{ counted, charged int64 }

// tallyFrom and tallyStep are how many bytes a tally charges at first, and then at once.
const tallyFrom, tallyStep = 1 << 16, 1 << 20

// Add charges n bytes more.
func (t *Tally) Add(n int64) error {
	t.counted += n
	if t.counted <= max(t.charged, tallyFrom) {
		return nil
	}
	more := max(t.counted-t.charged, min(tallyStep, Left()/2))
	if err := Charge(more); err != nil {
		return err
	}
	t.charged += more
	return nil
}

// Free returns all charged bytes to the budget.
func (t *Tally) Free() {
	Discharge(t.charged)
	*t = Tally{}
}

// Transfer leaves what t has charged charged, for as long as p is reachable, and empties t.
func Transfer[T any](t *Tally, p *T) {
	if t.charged > 0 {
		DischargeWith(p, t.charged)
	}
	*t = Tally{}
}
