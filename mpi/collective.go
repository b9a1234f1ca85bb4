//go:build linux || darwin

package mpi

import (
	"fmt"
	"unsafe"
)

// All data are sent from and received in the buffer of the Comm, in several rounds if necessary.

// AllReduce replaces x by the sum of the x of all ranks, added in the order of the ranks: every rank gets the same bits, with each library.
func (c *Comm) AllReduce(x []float32) error {
	return c.reduce("float32", bytesOf(x), 4, c.lib.floats, addTo[float32])
}

// AllReduceFloat64 is AllReduce in double precision.
func (c *Comm) AllReduceFloat64(x []float64) error {
	return c.reduce("float64", bytesOf(x), 8, c.lib.doubles, addTo[float64])
}

func (c *Comm) reduce(element string, b []byte, width int, datatype uintptr, add func(sum, x []byte)) error {
	if c.size == 1 || len(b) == 0 {
		return nil
	}
	what := func() string { return fmt.Sprintf("AllReduce of %d %s", len(b)/width, element) }
	return c.call(what, func() int32 {
		if c.size > 2 { // libraries add in different orders; the sum of two numbers is unique
			return c.reduceInOrder(b, width, add)
		}
		for rest := b; len(rest) > 0; {
			n := copy(c.buffer[:len(c.buffer)/width*width], rest)
			if code := c.lib.allreduce(c.lib.inPlace, address(c.buffer), int32(n/width), datatype, c.lib.sum, c.lib.world); code != 0 {
				return code
			}
			rest = rest[copy(rest, c.buffer[:n]):]
		}
		return 0
	})
}

// gathered is the size in bytes up to which the data of all ranks are sent to each.
const gathered = 1 << 14

// reduceInOrder sends small data of all ranks to all; of large data, each rank adds up its part, and
// the sums are distributed: as many bytes as in a library's ring.
func (c *Comm) reduceInOrder(b []byte, width int, add func(sum, x []byte)) int32 {
	send, receive := c.buffer[:len(c.buffer)/2], c.buffer[len(c.buffer)/2:]
	for rest := b; len(rest) > 0; {
		if n := len(rest); n*c.size <= min(gathered, len(receive)) {
			copy(receive[c.rank*n:], rest)
			code := c.lib.allgather(c.lib.inPlace, 0, c.lib.bytes, address(receive), int32(n), c.lib.bytes, c.lib.world)
			c.addUp(receive, n, add)
			copy(rest, receive[:n])
			return code
		}
		n := min((len(rest)/width+c.size-1)/c.size, len(send)/c.size/width) * width
		done := copy(send[:c.size*n], rest)
		if code := c.lib.alltoall(address(send), int32(n), c.lib.bytes, address(receive), int32(n), c.lib.bytes, c.lib.world); code != 0 {
			return code
		}
		c.addUp(receive, n, add)
		copy(send[c.rank*n:][:n], receive)
		if code := c.lib.allgather(c.lib.inPlace, 0, c.lib.bytes, address(send), int32(n), c.lib.bytes, c.lib.world); code != 0 {
			return code
		}
		rest = rest[copy(rest, send[:done]):]
	}
	return 0
}

// addUp adds the n bytes of each rank, one after another in memory, to the first.
func (c *Comm) addUp(of []byte, n int, add func(sum, x []byte)) {
	for k := 1; k < c.size; k++ {
		add(of[:n], of[k*n:][:n])
	}
}

// addTo adds the numbers of x to those of sum, which are as many.
func addTo[F float32 | float64](sum, x []byte) {
	a, b := numbersOf[F](sum), numbersOf[F](x)
	for i, v := range b[:len(a)] {
		a[i] += v
	}
}

// Broadcast sends root's b to all ranks. The lengths are equal.
func (c *Comm) Broadcast(b []byte, root int) error {
	if root < 0 || root >= c.size {
		return fmt.Errorf("mpi: Broadcast from rank %d of %d", root, c.size)
	}
	if c.size == 1 || len(b) == 0 {
		return nil
	}
	what := func() string { return fmt.Sprintf("Broadcast of %d bytes from rank %d", len(b), root) }
	return c.call(what, func() int32 {
		for rest := b; len(rest) > 0; {
			n := min(len(rest), len(c.buffer))
			if c.rank == root {
				copy(c.buffer, rest[:n])
			}
			if code := c.lib.bcast(address(c.buffer), int32(n), c.lib.bytes, int32(root), c.lib.world); code != 0 {
				return code
			}
			rest = rest[copy(rest, c.buffer[:n]):]
		}
		return 0
	})
}

// AllGather takes b as Size equal parts, of which each rank has filled its own, and fills in the others.
func (c *Comm) AllGather(b []byte) error {
	part, err := c.part("AllGather", b)
	if part == 0 || c.size == 1 || err != nil {
		return err
	}
	what := func() string { return fmt.Sprintf("AllGather of %d bytes from each rank", part) }
	return c.call(what, func() int32 {
		for at := 0; at < part; {
			n := min(part-at, len(c.buffer)/c.size)
			copy(c.buffer[c.rank*n:], b[c.rank*part+at:][:n])
			if code := c.lib.allgather(c.lib.inPlace, 0, c.lib.bytes, address(c.buffer), int32(n), c.lib.bytes, c.lib.world); code != 0 {
				return code
			}
			for k := range c.size {
				copy(b[k*part+at:], c.buffer[k*n:][:n])
			}
			at += n
		}
		return 0
	})
}

// AllToAll takes b as Size equal parts: part k is sent to rank k, and replaced by what rank k sent.
func (c *Comm) AllToAll(b []byte) error {
	part, err := c.part("AllToAll", b)
	if part == 0 || c.size == 1 || err != nil {
		return err
	}
	what := func() string { return fmt.Sprintf("AllToAll of %d bytes to each rank", part) }
	return c.call(what, func() int32 {
		send, receive := c.buffer[:len(c.buffer)/2], c.buffer[len(c.buffer)/2:]
		for at := 0; at < part; {
			n := min(part-at, len(send)/c.size)
			for k := range c.size {
				copy(send[k*n:], b[k*part+at:][:n])
			}
			if code := c.lib.alltoall(address(send), int32(n), c.lib.bytes, address(receive), int32(n), c.lib.bytes, c.lib.world); code != 0 {
				return code
			}
			for k := range c.size {
				copy(b[k*part+at:], receive[k*n:][:n])
			}
			at += n
		}
		return 0
	})
}

// part returns the length of one of Size equal parts.
func (c *Comm) part(what string, b []byte) (int, error) {
	if len(b)%c.size != 0 {
		return 0, fmt.Errorf("mpi: %s of %d bytes: not a multiple of the number of ranks, %d", what, len(b), c.size)
	}
	return len(b) / c.size, nil
}

// numbersOf returns the numbers in b.
func numbersOf[F float32 | float64](b []byte) []F {
	var zero F
	return unsafe.Slice((*F)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// bytesOf returns the memory of x.
func bytesOf[T float32 | float64](x []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(zero)))
}
