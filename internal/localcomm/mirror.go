package localcomm

// Communicator is train.Communicator.
type Communicator interface {
	Rank() int
	Size() int
	AllReduce(x []float32) error
	AllReduceFloat64(x []float64) error
	Broadcast(b []byte, root int) error
	AllGather(b []byte) error
	AllToAll(b []byte) error
	Barrier() error
	Abort(err error)
}

// Mirror is rank 0 of the given number of ranks, all others of which behave like it: to measure one
// rank of a run without the other machines.
type Mirror int

// Rank implements train.Communicator.
func (m Mirror) Rank() int { return 0 }

// Size implements train.Communicator.
func (m Mirror) Size() int { return int(m) }

// AllReduce implements train.Communicator.
func (m Mirror) AllReduce(x []float32) error {
	for i := range x {
		x[i] *= float32(m)
	}
	return nil
}

// AllReduceFloat64 implements train.Communicator.
func (m Mirror) AllReduceFloat64(x []float64) error {
	for i := range x {
		x[i] *= float64(m)
	}
	return nil
}

// Broadcast implements train.Communicator.
func (m Mirror) Broadcast([]byte, int) error { return nil }

// AllGather implements train.Communicator.
func (m Mirror) AllGather(b []byte) error {
	part := len(b) / int(m)
	for k := part; k < len(b); k += part {
		copy(b[k:], b[:part])
	}
	return nil
}

// AllToAll gives this rank its own part from every rank.
func (m Mirror) AllToAll(b []byte) error { return m.AllGather(b) }

// Barrier implements train.Communicator.
func (m Mirror) Barrier() error { return nil }

// Abort ends the process.
func (m Mirror) Abort(err error) { panic(err) }
