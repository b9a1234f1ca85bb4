package localcomm

import (
	"math/bits"
	"time"
)

// Delayed is a communicator whose calls take at least as long as the usual algorithms take over a network: rings for large blocks.
// All ranks of a run must have the same.
type Delayed struct {
	Communicator
	Network
}

// Network is the time that messages take.
type Network struct {
	Latency   time.Duration // of one message
	Bandwidth float64       // bytes per second that one rank sends while it receives as many
}

// AllReduce returns the time of a ring's 2(n−1) messages of a share of size bytes each.
func (d Network) AllReduce(n int, size float64) time.Duration {
	return d.messages(2*(n-1), size/float64(n))
}

// AllGather returns the time of n−1 messages of a share of size bytes each, and that of an AllToAll.
func (d Network) AllGather(n int, size float64) time.Duration {
	return d.messages(n-1, size/float64(n))
}

func (d Network) messages(n int, size float64) time.Duration {
	return time.Duration(n)*d.Latency + time.Duration(float64(n)*size/d.Bandwidth*float64(time.Second))
}

// until holds a call back for as long as it takes.
func until(begin time.Time, took time.Duration, err error) error {
	time.Sleep(time.Until(begin.Add(took)))
	return err
}

// AllReduce implements train.Communicator.
func (d *Delayed) AllReduce(x []float32) error {
	return until(time.Now(), d.Network.AllReduce(d.Size(), 4*float64(len(x))), d.Communicator.AllReduce(x))
}

// AllReduceFloat64 implements train.Communicator.
func (d *Delayed) AllReduceFloat64(x []float64) error {
	return until(time.Now(), d.Network.AllReduce(d.Size(), 8*float64(len(x))), d.Communicator.AllReduceFloat64(x))
}

// Broadcast takes as many messages as the height of a tree.
func (d *Delayed) Broadcast(b []byte, root int) error {
	high := bits.Len(uint(d.Size() - 1))
	return until(time.Now(), d.messages(high, float64(len(b))), d.Communicator.Broadcast(b, root))
}

// AllGather implements train.Communicator.
func (d *Delayed) AllGather(b []byte) error {
	return until(time.Now(), d.Network.AllGather(d.Size(), float64(len(b))), d.Communicator.AllGather(b))
}

// AllToAll implements train.Communicator.
func (d *Delayed) AllToAll(b []byte) error {
	return until(time.Now(), d.Network.AllGather(d.Size(), float64(len(b))), d.Communicator.AllToAll(b))
}
