package optim

// BaseRate returns the learning rate of a rule's settings, the default if LR is 0. Schedules are factors on it. It is 0 for rules
// of other packages, and for rules without a rate.
func BaseRate(r Rule) float64 {
	switch r := r.(type) {
	case interface{ base() float64 }:
		return r.base()
	case Chain:
		if len(r) > 0 {
			return BaseRate(r[len(r)-1])
		}
	}
	return 0
}

func (r SGD) base() float64       { r, _ = r.resolve(); return r.LR }
func (r RMSprop) base() float64   { r, _ = r.resolve(); return r.LR }
func (r Adam) base() float64      { x, _ := r.resolve(); return x.lr }
func (r AdamW) base() float64     { x, _ := r.resolve(); return x.lr }
func (r NAdam) base() float64     { r, _ = r.resolve(); return r.LR }
func (r RAdam) base() float64     { r, _ = r.resolve(); return r.LR }
func (r Adagrad) base() float64   { r, _ = r.resolve(); return r.LR }
func (r Adadelta) base() float64  { r, _ = r.resolve(); return r.LR }
func (r Adamax) base() float64    { r, _ = r.resolve(); return r.LR }
func (r Adafactor) base() float64 { r, _ = r.resolve(); return r.LR }
func (r LAMB) base() float64      { r, _ = r.resolve(); return r.LR }
func (r Lion) base() float64      { r, _ = r.resolve(); return r.LR }
