package std

import (
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// TfIdfVectorizerConfig has the attributes of TfIdfVectorizer.
type TfIdfVectorizerConfig struct {
	MaxLength int       `onnx:"max_gram_length,required"` // largest n of the n-grams
	MaxSkip   int       `onnx:"max_skip_count,required"`  // largest number of words skipped between two words of an n-gram
	MinLength int       `onnx:"min_gram_length,required"` // smallest n of the n-grams
	Mode      string    `onnx:"mode,required"`            // TF: counts; IDF: the weight if it occurs; TFIDF: count times weight
	Counts    []int     `onnx:"ngram_counts,required"`    // start of the n-grams of each n in the pool
	Indexes   []int     `onnx:"ngram_indexes,required"`   // output column of each n-gram
	Ints      []int     `onnx:"pool_int64s"`              // the pool, if words are integers
	Strings   []string  `onnx:"pool_strings"`             // the pool, if words are strings
	Weights   []float32 `onnx:"weights"`                  // of each n-gram; nil: 1
}

// Operator makes TfIdfVectorizerConfig a Config.
func (TfIdfVectorizerConfig) Operator() op.Name { return op.Name{Name: "TfIdfVectorizer"} }

func tfIdfVectorizer() *op.Op {
	return &op.Op{
		Name: "TfIdfVectorizer", Since: []int{9}, Doc: "Counts short sequences of words.",
		In: "X T", Out: "Y float32", Where: op.Where{"T": {dtype.String, dtype.Int32, dtype.Int64}}, Attrs: TfIdfVectorizerConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(TfIdfVectorizerConfig)
			if err := cfg.eachGram(c, func(from, length, number int) {}); err != nil {
				return nil, err
			}
			cols := op.D(slices.Max(append([]int{-1}, cfg.Indexes...)) + 1)
			switch s := c.In[0].Shape; c.In[0].Rank() {
			case 1:
				return []op.Type{op.T(dtype.Float32, cols)}, nil
			case 2:
				return []op.Type{op.T(dtype.Float32, s[0], cols)}, nil
			case -1:
				return []op.Type{{DType: dtype.Float32, Unranked: true}}, nil
			}
			return nil, c.Mismatch(0, "rank 1 or 2", c.In[0])
		},
		Kernel: valueFunction(countGrams).kernel, Strings: valueFunction(countGrams).strings,
		NoGrad: "a count of n-grams", Pinned: "columns are identified by their position",
	}
}

// addWord appends a word to the key of an n-gram.
func addWord(key []byte, word string) []byte {
	return append(append(strconv.AppendInt(key, int64(len(word)), 10), ':'), word...)
}

// addNumber appends a word that is a number to the key of an n-gram.
func addNumber(key []byte, word int64) []byte { return append(strconv.AppendInt(key, word, 10), ':') }

// eachGram calls add with the position in the pool, length and number of every n-gram of the lengths that are counted.
func (cfg TfIdfVectorizerConfig) eachGram(c *op.Call, add func(from, length, number int)) error {
	words := len(cfg.Ints)
	if c.In[0].DType == dtype.String {
		words = len(cfg.Strings)
	}
	if cfg.Mode != "TF" && cfg.Mode != "IDF" && cfg.Mode != "TFIDF" {
		return c.Errorf("mode %q is unknown", cfg.Mode)
	}
	if cfg.MinLength < 1 || cfg.MaxLength < cfg.MinLength || cfg.MaxSkip < 0 {
		return c.Errorf("gram lengths %d to %d or skips %d are out of range", cfg.MinLength, cfg.MaxLength, cfg.MaxSkip)
	}
	n := 0
	for i, from := range cfg.Counts {
		to, length := words, i+1
		if i+1 < len(cfg.Counts) {
			to = cfg.Counts[i+1]
		}
		if from < 0 || from > to || to > words || (to-from)%length != 0 {
			return c.Errorf("ngram_counts %v do not cut a pool of %d words", cfg.Counts, words)
		}
		for ; from < to; from += length {
			if length >= cfg.MinLength && length <= cfg.MaxLength {
				add(from, length, n)
			}
			n++
		}
	}
	if len(cfg.Indexes) != n || cfg.Weights != nil && len(cfg.Weights) != n {
		return c.Errorf("has %d grams, %d indexes and %d weights", n, len(cfg.Indexes), len(cfg.Weights))
	}
	for _, k := range cfg.Indexes {
		if k < 0 || k > maxExtent {
			return c.Errorf("index %d is out of range", k)
		}
	}
	return nil
}

// gramIndex holds the number of every n-gram of the pool.
type gramIndex struct{ at map[string]int }

// perGram is about how many bytes an n-gram takes in a gramIndex, and perWord each of its words beside its text.
const perGram, perWord = 128, 24

// grams returns the number of every n-gram of the pool, charged for as long as it is reachable.
func (cfg TfIdfVectorizerConfig) grams(c *op.Call) (*gramIndex, error) {
	text := c.In[0].DType == dtype.String
	bytes := 0
	err := cfg.eachGram(c, func(from, length, _ int) {
		bytes += perGram + perWord*length
		if text {
			for _, w := range cfg.Strings[from:][:length] {
				bytes += len(w)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	x, full := budget.Made(int64(bytes), func() *gramIndex {
		x, gram := &gramIndex{map[string]int{}}, []byte{}
		err = cfg.eachGram(c, func(from, length, number int) {
			gram = gram[:0]
			for i := from; i < from+length; i++ {
				if text {
					gram = addWord(gram, cfg.Strings[i])
				} else {
					gram = addNumber(gram, int64(cfg.Ints[i]))
				}
			}
			x.at[string(gram)] = number
		})
		return x
	})
	if full != nil {
		return nil, c.Errorf("the index of its n-grams: %w", full)
	}
	return x, err
}

func countGrams(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(TfIdfVectorizerConfig)
	index, err := cfg.grams(c)
	if err != nil {
		return nil, err
	}
	cols := slices.Max(append([]int{-1}, cfg.Indexes...)) + 1
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		add, pace := adderOf(p, in[0])
		shape := []int(in[0].Shape())
		rows, length, out := 1, shape[0], []int{cols}
		if len(shape) == 2 {
			rows, length, out = shape[0], shape[1], []int{shape[0], cols}
		}
		y := kernel.Zeros[float32](p, rows*cols)
		for r := range rows {
			cfg.count(pace, length, func(gram []byte, word int) []byte { return add(gram, r*length+word) }, index.at, func(gram int) {
				w := float32(1)
				if cfg.Weights != nil && cfg.Mode != "TF" {
					w = cfg.Weights[gram]
				}
				if k := r*cols + cfg.Indexes[gram]; cfg.Mode == "IDF" {
					y[k] = w
				} else {
					y[k] += w
				}
			})
		}
		d, err := dtype.FromSlice(y, out...)
		return []dtype.Value{d}, err
	}, nil
}

// adderOf returns a function that appends a word of x to the key of an n-gram, and the pace at which it does.
func adderOf(p *kernel.Pool, x dtype.Value) (add func(gram []byte, word int) []byte, pace *kernel.Pace) {
	pace = new(kernel.Pace)
	*pace = p.Pace()
	switch x := x.(type) {
	case *dtype.Strings:
		return func(gram []byte, i int) []byte { pace.Did(16 + len(x.Elems[i])/4); return addWord(gram, x.Elems[i]) }, pace
	case *tensor.Dense:
		if dtype.DTypeOf(x) == dtype.Int32 {
			list := dtype.Slice[int32](x)
			return func(gram []byte, i int) []byte { pace.Did(16); return addNumber(gram, int64(list[i])) }, pace
		}
		list := dtype.Slice[int64](x)
		return func(gram []byte, i int) []byte { pace.Did(16); return addNumber(gram, list[i]) }, pace
	}
	return nil, pace
}

// count calls found for every gram of the pool in a row of words. Single words have nothing to skip.
func (cfg TfIdfVectorizerConfig) count(pace *kernel.Pace, words int, add func(gram []byte, word int) []byte, at map[string]int, found func(gram int)) {
	var gram []byte
	for n := cfg.MinLength; n <= min(cfg.MaxLength, len(cfg.Counts), words); n++ {
		for step := 1; step <= cfg.MaxSkip+1; step++ {
			if n == 1 && step > 1 || (n-1)*step >= words {
				break
			}
			for from := 0; from+(n-1)*step < words; from++ {
				pace.Did(32)
				gram = gram[:0]
				for k := range n {
					gram = add(gram, from+k*step)
				}
				if g, ok := at[string(gram)]; ok {
					found(g)
				}
			}
		}
	}
}
