package train

// Communicator connects the processes (ranks) of a training run. All ranks make the same calls in the same order, one
// at a time. An error of a call means that the run cannot continue: the ranks may no longer agree.
type Communicator interface {
	// Rank is this process's number, from 0; Size is how many there are.
	Rank() int
	Size() int
	// AllReduce replaces x by the sum of the x of all ranks; every rank gets the same bits. With sums in the order of the ranks a run has
	// those of one process with Config.MicroBatch, too.
	AllReduce(x []float32) error
	AllReduceFloat64(x []float64) error // likewise
	// Broadcast sends root's b to all ranks. The lengths are equal.
	Broadcast(b []byte, root int) error
	// AllGather takes b as Size equal parts, of which each rank has filled its own, and fills in the others.
	AllGather(b []byte) error
	// AllToAll takes b as Size equal parts: part k goes to rank k, and what rank k sent comes in its place.
	AllToAll(b []byte) error
	// Barrier returns when all ranks have called it.
	Barrier() error
	// Abort ends the run on all ranks, from a rank that cannot go on. It says why where it can, and may not return.
	Abort(err error)
}
