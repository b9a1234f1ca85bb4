package std

import (
	"iter"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/layout"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// StringSplitConfig has the attributes of StringSplit.
type StringSplitConfig struct {
	Delimiter string `onnx:"delimiter"` // "": any white space
	MaxSplit  *int   `onnx:"maxsplit"`  // largest number of splits, from the left; nil: no limit
}

// Operator makes StringSplitConfig a Config.
func (StringSplitConfig) Operator() op.Name { return op.Name{Name: "StringSplit"} }

// RegexFullMatchConfig has the attribute of RegexFullMatch, a pattern in RE2's syntax.
type RegexFullMatchConfig struct {
	Pattern string `onnx:"pattern"` // must match the whole string
}

// Operator makes RegexFullMatchConfig a Config.
func (RegexFullMatchConfig) Operator() op.Name { return op.Name{Name: "RegexFullMatch"} }

// StringNormalizerConfig has the attributes of StringNormalizer.
type StringNormalizerConfig struct {
	Case          string   `onnx:"case_change_action,default=NONE"` // change of case: LOWER, UPPER or NONE
	CaseSensitive bool     `onnx:"is_case_sensitive"`               // compare with stop words case-sensitively
	Locale        string   `onnx:"locale"`                          // of no effect
	StopWords     []string `onnx:"stopwords"`                       // words to remove
}

// Operator makes StringNormalizerConfig a Config.
func (StringNormalizerConfig) Operator() op.Name { return op.Name{Name: "StringNormalizer"} }

const noStringGrad = "strings have no gradient"

func stringOps() []*op.Op {
	return []*op.Op{
		{Name: "StringConcat", Since: []int{20}, Doc: "Puts strings behind one another, with broadcasting.", In: "X string, Y string", Out: "Z string",
			Infer: func(c *op.Call) ([]op.Type, error) {
				if c.In[0].Unranked || c.In[1].Unranked {
					return []op.Type{{DType: dtype.String, Unranked: true}}, nil
				}
				s, err := c.Broadcast(c.In[0].Shape, c.In[1].Shape)
				return []op.Type{c.In[0].With(s...)}, err
			},
			Func: concatStrings, NoGrad: noStringGrad, Couple: op.Elementwise},
		{Name: "RegexFullMatch", Since: []int{20}, Doc: "Says which strings match a pattern as a whole.", In: "X string", Out: "Y bool", Attrs: RegexFullMatchConfig{},
			Infer: func(c *op.Call) ([]op.Type, error) {
				_, err := fullPattern(c)
				return []op.Type{c.In[0].Of(dtype.Bool)}, err
			},
			Func: matchStrings, NoGrad: noStringGrad, Couple: op.Elementwise},
		{Name: "StringSplit", Since: []int{20}, Doc: "Cuts strings at a delimiter.", In: "X string", Out: "Y string, Z int64", Attrs: StringSplitConfig{},
			Infer: inferStringSplit, Func: splitStrings, NoGrad: noStringGrad, Pinned: "substrings are identified by their position"},
		{Name: "StringNormalizer", Since: []int{10}, Doc: "Leaves stop words out and changes letters to one case.", In: "X string", Out: "Y string", Attrs: StringNormalizerConfig{},
			Infer: inferNormalizer, Func: normalizeStrings, NoGrad: noStringGrad, Pinned: "words are left out"},
	}
}

// stringWork is about the work, as [kernel.Pace] counts it, of handling a short string.
const stringWork = 64

// stringsOf returns the elements of input i.
func stringsOf(c *op.Call, i int, v dtype.Value) (*dtype.Strings, error) {
	s, ok := v.(*dtype.Strings)
	if !ok {
		return nil, c.Mismatch(i, "strings", op.TypeOf(v))
	}
	return s, nil
}

func concatStrings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	a, err := stringsOf(c, 0, in[0])
	if err != nil {
		return nil, err
	}
	b, err := stringsOf(c, 1, in[1])
	if err != nil {
		return nil, err
	}
	shape, err := c.Broadcast(op.Dims(a.Shape()...), op.Dims(b.Shape()...))
	if err != nil {
		return nil, err
	}
	p := poolOf(c)
	numbers, err := reserve(c, 8*(len(a.Elems)+len(b.Elems)+2*op.T(dtype.String, shape...).Elements()))
	if err != nil {
		return nil, err
	}
	defer numbers()
	// The other operand's elements are found by broadcasting their numbers.
	pick := func(s *dtype.Strings) ([]int64, error) {
		n, pace := kernel.Uncleared[int64](len(s.Elems)), p.Pace()
		for i := range n {
			pace.Did(1)
			n[i] = int64(i)
		}
		d := dtype.New(dtype.Int64, op.Sizes(shape)...)
		from, err := dtype.FromSlice(n, s.Shape()...)
		if err == nil && len(d.Raw) > 0 {
			layout.ExpandBytes(p, d.Raw, from.Raw, s.Shape(), op.Sizes(shape), 8)
		}
		return dtype.Slice[int64](d), err
	}
	at, err := pick(a)
	if err != nil {
		return nil, err
	}
	bt, err := pick(b)
	if err != nil {
		return nil, err
	}
	n, pace := stringHeader*len(at), p.Pace()
	for i := range at {
		pace.Did(2)
		n += len(a.Elems[at[i]]) + len(b.Elems[bt[i]])
	}
	release, err := reserve(c, n)
	if err != nil {
		return nil, err
	}
	defer release()
	out := make([]string, len(at))
	for i := range out {
		pace.Did(stringWork)
		out[i] = joined(p, a.Elems[at[i]], b.Elems[bt[i]])
	}
	s, err := dtype.NewStrings(out, op.Sizes(shape)...)
	return []dtype.Value{s}, err
}

// stringPart is the number of bytes of a long string that are handled between two checks of the context.
const stringPart = 16 * kernel.CheckEvery

// joined is a + b.
func joined(p *kernel.Pool, a, b string) string {
	if len(a)+len(b) <= stringPart {
		return a + b
	}
	var out strings.Builder
	out.Grow(len(a) + len(b))
	for _, s := range []string{a, b} {
		for part := range parts(s) {
			p.Check()
			out.WriteString(part)
		}
	}
	return out.String()
}

// inParts is f(s), for a function of single characters.
func inParts(p *kernel.Pool, s string, f func(string) string) string {
	if len(s) <= stringPart {
		return f(s)
	}
	var out strings.Builder
	for part := range parts(s) {
		p.Check()
		out.WriteString(f(part))
	}
	return out.String()
}

// parts cuts a string, between characters, into parts of some stringPart bytes.
func parts(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > stringPart {
			n := stringPart
			for n < len(s) && n < stringPart+utf8.UTFMax && !utf8.RuneStart(s[n]) {
				n++
			}
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
		yield(s)
	}
}

// checkedReader reads a string, and checks the context for each character: a pattern of many repetitions takes long for one.
type checkedReader struct {
	strings.Reader
	pool *kernel.Pool
}

func (r *checkedReader) ReadRune() (rune, int, error) {
	r.pool.Check()
	return r.Reader.ReadRune()
}

func fullPattern(c *op.Call) (*regexp.Regexp, error) {
	r, err := regexp.Compile(`\A(?:` + c.Config.(RegexFullMatchConfig).Pattern + `)\z`)
	if err != nil {
		return nil, c.Errorf("pattern: %w", err)
	}
	return r, nil
}

// instructions is how many instructions a pattern has, each of which may take time for each character.
func instructions(r *regexp.Regexp) int {
	if tree, err := syntax.Parse(r.String(), syntax.Perl); err == nil {
		if prog, err := syntax.Compile(tree.Simplify()); err == nil {
			return len(prog.Inst)
		}
	}
	return stringPart
}

func matchStrings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	r, err := fullPattern(c)
	if err != nil {
		return nil, err
	}
	x, err := stringsOf(c, 0, in[0])
	if err != nil {
		return nil, err
	}
	y, p := make([]bool, len(x.Elems)), poolOf(c)
	size, pace := instructions(r), p.Pace()
	for i, s := range x.Elems {
		if size*len(s) < stringPart {
			pace.Did(stringWork + 16*len(s))
			y[i] = r.MatchString(s)
			continue
		}
		in := checkedReader{pool: p}
		in.Reset(s)
		y[i] = r.MatchReader(&in)
	}
	d, err := dtype.FromSlice(y, x.Shape()...)
	return []dtype.Value{d}, err
}

// cut yields the parts of a string.
func (cfg StringSplitConfig) cut(p *kernel.Pool, s string) iter.Seq[string] {
	limit := math.MaxInt
	if cfg.MaxSplit != nil && *cfg.MaxSplit >= 0 {
		limit = *cfg.MaxSplit
	}
	return func(yield func(string) bool) {
		pace := p.Pace()
		next := func(from int) (end, begin int) { // of the next delimiter
			i := strings.Index(s[from:], cfg.Delimiter)
			if i < 0 {
				return -1, -1
			}
			pace.Did(stringWork/4 + i/16)
			return from + i, from + i + len(cfg.Delimiter)
		}
		from := 0
		if cfg.Delimiter == "" {
			isSpace := unicode.IsSpace
			if len(s) > stringPart {
				isSpace = func(r rune) bool { pace.Did(1); return unicode.IsSpace(r) }
			}
			if from = len(s) - len(strings.TrimLeftFunc(s, isSpace)); from == len(s) {
				return
			}
			next = func(from int) (end, begin int) {
				if end = strings.IndexFunc(s[from:], isSpace); end < 0 {
					return -1, -1
				}
				rest := strings.TrimLeftFunc(s[from+end:], isSpace)
				return from + end, len(s) - len(rest)
			}
		}
		for range limit {
			end, begin := next(from)
			if end < 0 {
				break
			}
			if !yield(s[from:end]) {
				return
			}
			from = begin
		}
		if cfg.Delimiter != "" || from < len(s) {
			yield(s[from:])
		}
	}
}

// counts returns into how many parts each string is cut, and the most of these.
func (cfg StringSplitConfig) counts(p *kernel.Pool, x *dtype.Strings) (count []int64, most int) {
	count = make([]int64, len(x.Elems))
	pace := p.Pace()
	for i, s := range x.Elems {
		pace.Did(stringWork + len(s))
		for range cfg.cut(p, s) {
			count[i]++
		}
		most = max(most, int(count[i]))
	}
	return count, most
}

func inferStringSplit(c *op.Call) ([]op.Type, error) {
	x := c.In[0]
	y := op.T(dtype.String, append(append([]op.Dim(nil), x.Shape...), op.Unknown())...)
	y.Unranked = x.Unranked
	out := []op.Type{y, x.Of(dtype.Int64)}
	v, err := c.Value(0)
	if err != nil {
		return out, err
	}
	s, err := stringsOf(c, 0, v)
	if err != nil {
		return nil, err
	}
	_, most := c.Config.(StringSplitConfig).counts(poolOf(c), s)
	return []op.Type{op.T(dtype.String, op.Dims(append(slices.Clone([]int(s.Shape())), most)...)...), op.TypeOf(s).Of(dtype.Int64)}, nil
}

func splitStrings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	x, err := stringsOf(c, 0, in[0])
	if err != nil {
		return nil, err
	}
	p := poolOf(c)
	cfg := c.Config.(StringSplitConfig)
	count, most := cfg.counts(p, x)
	if most > 0 && len(x.Elems) > op.MaxElements/most {
		return nil, c.Errorf("%d strings are cut into up to %d parts, too many", len(x.Elems), most)
	}
	release, err := reserve(c, stringHeader*len(x.Elems)*most)
	if err != nil {
		return nil, err
	}
	defer release()
	list, pace := make([]string, len(x.Elems)*most), p.Pace()
	for i, s := range x.Elems {
		pace.Did(stringWork + len(s))
		k := i * most
		for part := range cfg.cut(p, s) {
			list[k] = part
			k++
		}
	}
	y, err := dtype.NewStrings(list, append(slices.Clone([]int(x.Shape())), most)...)
	if err != nil {
		return nil, err
	}
	z, err := dtype.FromSlice(count, x.Shape()...)
	return []dtype.Value{y, z}, err
}

func inferNormalizer(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(StringNormalizerConfig)
	if !slices.Contains([]string{"NONE", "LOWER", "UPPER"}, cfg.Case) {
		return nil, c.Errorf("case_change_action %q is unknown", cfg.Case)
	}
	if r := c.In[0].Rank(); r >= 0 && (r < 1 || r > 2 || r == 2 && c.In[0].Shape[0].Differ(op.D(1))) {
		return nil, c.Mismatch(0, "string[?] or string[1,?]", c.In[0])
	}
	if len(cfg.StopWords) == 0 {
		return op.Same(c)
	}
	v, err := c.Value(0)
	if err != nil {
		out := c.In[0]
		if r := out.Rank(); r > 0 {
			out = out.With(append(slices.Repeat([]op.Dim{op.D(1)}, r-1), op.Unknown())...)
		}
		return []op.Type{out}, err
	}
	s, err := stringsOf(c, 0, v)
	if err != nil {
		return nil, err
	}
	n := 0
	for range cfg.kept(poolOf(c), s) {
		n++
	}
	return []op.Type{op.T(dtype.String, op.Dims(cfg.shape(s, n)...)...)}, nil
}

// kept yields the strings that are no stop words.
func (cfg StringNormalizerConfig) kept(p *kernel.Pool, x *dtype.Strings) iter.Seq[string] {
	fold := func(s string) string {
		if cfg.CaseSensitive {
			return s
		}
		return inParts(p, s, strings.ToLower)
	}
	stop := map[string]bool{}
	for _, w := range cfg.StopWords {
		stop[fold(w)] = true
	}
	pace := p.Pace()
	return func(yield func(string) bool) {
		for _, s := range x.Elems {
			pace.Did(stringWork + len(s))
			if len(stop) > 0 && stop[fold(s)] {
				continue
			}
			if !yield(s) {
				return
			}
		}
	}
}

// shape returns the shape of n strings that are left of x: without one, there is an empty one.
func (cfg StringNormalizerConfig) shape(x *dtype.Strings, n int) []int {
	if n == 0 && len(cfg.StopWords) > 0 {
		n = 1
	}
	if len(x.Shape()) == 2 {
		return []int{1, n}
	}
	return []int{n}
}

func normalizeStrings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(StringNormalizerConfig)
	x, err := stringsOf(c, 0, in[0])
	if err != nil {
		return nil, err
	}
	p, n := poolOf(c), 0
	for _, s := range x.Elems {
		n += 2*stringHeader + 2*len(s)
	}
	release, err := reserve(c, n)
	if err != nil {
		return nil, err
	}
	defer release()
	out := make([]string, 0, len(x.Elems))
	for s := range cfg.kept(p, x) {
		switch cfg.Case {
		case "LOWER":
			s = inParts(p, s, strings.ToLower)
		case "UPPER":
			s = inParts(p, s, strings.ToUpper)
		}
		out = append(out, s)
	}
	shape := cfg.shape(x, len(out))
	if len(out) == 0 && len(cfg.StopWords) > 0 {
		out = []string{""}
	}
	s, err := dtype.NewStrings(out, shape...)
	return []dtype.Value{s}, err
}
