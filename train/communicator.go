package train

// Communicator connects the processes (ranks) of a training run. All ranks make the same calls in the same order, one
// at a time. An error of a call means that the run cannot continue: the ranks may no longer agree.
type Communicator interface {
	// Rank is this process's number, from 0; Size is the number of processes.
	Rank() int
	Size() int
	// AllReduce replaces x by the sum of the x of all ranks; every rank gets the same bits. If it sums in the order of the ranks, the
	// bits of a run are also those of one process with Config.MicroBatch.
	AllReduce(x []float32) error
	AllReduceFloat64(x []float64) error // likewise
	// Broadcast sends root's b to all ranks. The lengths are equal.
	Broadcast(b []byte, root int) error
	// AllGather treats b as Size equal blocks, of which each rank has filled its own, and fills the others.
	AllGather(b []byte) error
	// AllToAll treats b as Size equal blocks: block k is sent to rank k, and replaced by the block that rank k sent.
	AllToAll(b []byte) error
	// Barrier returns when all ranks have called it.
	Barrier() error
	// Abort ends the run on all ranks, from a rank that cannot continue. It reports err if possible, and may not return.
	Abort(err error)
}
