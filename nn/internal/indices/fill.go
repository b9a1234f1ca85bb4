package indices

// Offer lists how sets of one form can change the length of an axis.
type Offer struct {
	Sets int       // number of sets
	Per  int       // indices of the axis per set
	Lost []float64 // loss by number of removed sets, the least useful first: Lost[0] is 0
}

// Fill chooses how many sets of each offer to remove (negative) or add so that the length of an axis
// changes by need, with the smallest loss. One set of each offer remains. It also returns the loss;
// false if it is impossible.
func Fill(list []Offer, need int) ([]int, float64, bool) {
	n, grows := max(need, -need), need > 0
	type cell struct {
		lost float64
		k    int
		ok   bool
	}
	table := make([][]cell, len(list)+1) // the smallest loss with the first i offers, for every change up to n
	table[0] = make([]cell, n+1)
	table[0][0].ok = true
	for i, o := range list {
		row := make([]cell, n+1)
		for at := range row {
			take := func(k int) {
				prev := table[i][at-k*o.Per]
				if !prev.ok {
					return
				}
				lost := prev.lost
				if grows {
					lost += float64(k) / float64(o.Sets+1)
				} else {
					lost += o.Lost[k]
				}
				if c := &row[at]; !c.ok || lost < c.lost {
					*c = cell{lost, k, true}
				}
			}
			if take(0); grows { // each further set costs the same: the best one less is the best for a shorter axis
				if at >= o.Per && row[at-o.Per].ok {
					take(row[at-o.Per].k + 1)
				}
				continue
			}
			for k := 1; k <= o.Sets-1 && k*o.Per <= at; k++ {
				take(k)
			}
		}
		table[i+1] = row
	}
	if !table[len(list)][n].ok {
		return nil, 0, false
	}
	out := make([]int, len(list))
	at := n
	for i := len(list) - 1; i >= 0; i-- {
		out[i] = table[i+1][at].k
		at -= out[i] * list[i].Per
		if !grows {
			out[i] = -out[i]
		}
	}
	return out, table[len(list)][n].lost, true
}
