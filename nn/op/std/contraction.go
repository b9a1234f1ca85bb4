package std

import (
	"maps"
	"slices"
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// contraction is a sum of products: In has the label of each axis of each operand, Out those of
// the result, -1 for axes of length 1 without one. Size is by label.
type contraction struct {
	In   [][]int
	Out  []int
	Size []int
}

func (contraction) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "EinsumGrad"} }

// shape returns the shape of a tensor with the given labels.
func (k contraction) shape(labels []int) []int {
	s := make([]int, len(labels))
	for i, l := range labels {
		if s[i] = 1; l >= 0 {
			s[i] = k.Size[l]
		}
	}
	return s
}

// factor is an operand on its way: distinct labels, row-major.
type factor[T number] struct {
	labels []int
	data   []T
}

// contractor multiplies operand after operand and sums a label as soon as nothing that follows has it.
func contractor[T number](k contraction) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dst := dtype.Elems[T](out[0])
		kernel.Clear(pool(x), dst)
		if slices.Contains(k.Size, 0) {
			return nil
		}
		needed := func(i int) map[int]bool { // by the result and the operands from i on
			m := map[int]bool{}
			for _, list := range append(k.In[i:len(k.In):len(k.In)], k.Out) {
				for _, l := range list {
					m[l] = true
				}
			}
			return m
		}
		acc := arrange(x, k, factor[T]{k.In[0], dtype.Elems[T](in[0])}, keptLabels(k.In[0], needed(1)))
		for i := 1; i < len(k.In); i++ {
			need := needed(i + 1)
			keep := maps.Clone(need)
			for _, l := range acc.labels {
				keep[l] = true
			}
			b := arrange(x, k, factor[T]{k.In[i], dtype.Elems[T](in[i])}, keptLabels(k.In[i], keep))
			acc = multiply(x, k, acc, b, need)
		}
		place(pool(x), k, dst, k.Out, acc.data, acc.labels)
		return nil
	}
}

// keptLabels returns the distinct labels of a list that keep has.
func keptLabels(list []int, keep map[int]bool) []int {
	var out []int
	for _, l := range list {
		if l >= 0 && keep[l] && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// arrange brings f into the given order of labels: repeated ones are the diagonal, missing ones summed.
func arrange[T number](x *op.Exec, k contraction, f factor[T], to []int) factor[T] {
	if slices.Equal(f.labels, to) {
		return f
	}
	dst := room[T](x, dtype.Product(k.shape(to)))
	kernel.Clear(pool(x), dst)
	place(pool(x), k, dst, to, f.data, f.labels)
	return factor[T]{to, dst}
}

// multiply contracts a and b: labels of both that need has are a batch, the others of both are summed.
func multiply[T number](x *op.Exec, k contraction, a, b factor[T], need map[int]bool) factor[T] {
	var batch, sum, left, right []int
	for _, l := range a.labels {
		switch both := slices.Contains(b.labels, l); {
		case both && need[l]:
			batch = append(batch, l)
		case both:
			sum = append(sum, l)
		default:
			left = append(left, l)
		}
	}
	for _, l := range b.labels {
		if !slices.Contains(a.labels, l) {
			right = append(right, l)
		}
	}
	a, b = arrange(x, k, a, slices.Concat(batch, left, sum)), arrange(x, k, b, slices.Concat(batch, sum, right))
	n := func(labels []int) int { return dtype.Product(k.shape(labels)) }
	c := factor[T]{slices.Concat(batch, left, right), room[T](x, n(batch)*n(left)*n(right))}
	products(x, n(batch), n(left), n(right), n(sum), a.data, b.data, c.data)
	return c
}

// products are batch matrix products m×k by k×n.
func products[T number](x *op.Exec, batch, m, n, k int, a, b, c []T) {
	switch a := any(a).(type) {
	case []float32:
		matmul.GemmBatch(pool(x), batch, false, false, m, n, k, 1, a, k, m*k, any(b).([]float32), n, k*n, 0, any(c).([]float32), n, m*n)
		return
	case []float64:
		matmul.GemmBatch(pool(x), batch, false, false, m, n, k, 1, a, k, m*k, any(b).([]float64), n, k*n, 0, any(c).([]float64), n, m*n)
		return
	}
	kernel.Clear(pool(x), c)
	for i := range batch * m {
		pool(x).Check()
		for l := range k {
			row := b[(i/m*k+l)*n:][:n]
			for j, v := range row {
				c[i*n+j] += a[i*k+l] * v
			}
		}
	}
}

// place adds src, with labels from, to dst, with labels to.
func place[T number](p *kernel.Pool, k contraction, dst []T, to []int, src []T, from []int) {
	all := slices.Concat(to, from)
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(l int) bool { return l < 0 })
	strides := func(labels []int) []int {
		s, step := make([]int, len(all)), 1
		shape := k.shape(labels)
		for a := len(labels) - 1; a >= 0; a-- {
			if i := slices.Index(all, labels[a]); i >= 0 {
				s[i] += step
			}
			step *= shape[a]
		}
		return s
	}
	d, s := strides(to), strides(from)
	done := 0 // elements since the last check
	var walk func(i, at, read int)
	walk = func(i, at, read int) {
		if i == len(all) {
			dst[at] += src[read]
			return
		}
		n := k.Size[all[i]]
		if i == len(all)-1 {
			if done += n; done >= checkEvery {
				done = 0
				p.Check()
			}
			for j := range n {
				checkAt(p, j+1)
				dst[at+j*d[i]] += src[read+j*s[i]]
			}
			return
		}
		for j := range n {
			walk(i+1, at+j*d[i], read+j*s[i])
		}
	}
	walk(0, 0, 0)
}

// room returns scratch memory for elements of a type.
func room[T number](x *op.Exec, n int) []T {
	return words[T](x.Bytes(n * int(unsafe.Sizeof(T(0)))))
}
