package conformance_test

import "github.com/graft-ml/graft/nn/dtype"

// detectionSweeps: boxes, words.
var detectionSweeps = map[string]func(r *draw) trial{
	"NonMaxSuppression": suppression,
	"StringNormalizer":  stringNormalizer,
	"StringConcat": func(r *draw) trial {
		a, b := pair(r)
		return trial{op: "StringConcat", opset: 20, in: fed(r.words(a...), r.words(b...))}
	},
	"StringSplit": stringSplit,
	"RegexFullMatch": func(r *draw) trial {
		return trial{op: "RegexFullMatch", opset: 20, attrs: map[string]any{"pattern": pick(r, "[a-c]+", "", "a|cde", ".*")}, in: fed(r.words(r.shape(2, 1, 3)...))}
	},
	"TfIdfVectorizer": wordCounts,
}

func suppression(r *draw) trial {
	batch, boxes, classes := r.between(1, 2), r.between(1, 8), r.between(1, 3)
	b := make([]float32, batch*boxes*4)
	center := r.IntN(2)
	for i := 0; i < len(b); i += 4 {
		x, y, w, h := r.Float32()*4, r.Float32()*4, r.Float32()*3+0.2, r.Float32()*3+0.2
		if copy(b[i:], []float32{y, x, y + h, x + w}); center == 1 {
			copy(b[i:], []float32{x, y, w, h})
		} else if r.rarely(3) {
			copy(b[i:], []float32{y + h, x + w, y, x})
		}
	}
	in := fed(must(dtype.FromSlice(b, batch, boxes, 4)), r.distinct(batch, classes, boxes))
	if r.rarely(6) {
		return trial{op: "NonMaxSuppression", opset: pick(r, 10, 11), in: in}
	}
	in = r.with(in, pick(r, scalar(int64(r.between(0, 4))), list(int64(r.between(1, 4)))), scalar(pick(r, float32(0), 0.3, 0.7, 1)))
	if r.flag() {
		in = r.with(in, scalar(pick(r, float32(-1), 0, 0.5)))
	}
	return trial{op: "NonMaxSuppression", opset: pick(r, 10, 11), attrs: map[string]any{"center_point_box": center}, in: in}
}

func stringNormalizer(r *draw) trial {
	attrs := map[string]any{"case_change_action": pick(r, "NONE", "LOWER", "UPPER"), "is_case_sensitive": r.IntN(2), "locale": "C"}
	if r.flag() {
		attrs["stopwords"] = []string{"Monday", "b"}
	}
	v := make([]string, r.between(1, 4))
	for i := range v {
		v[i] = pick(r, "monday", "Monday", "tuesday", "B", "c")
	}
	shape := []int{len(v)}
	if r.flag() {
		shape = []int{1, len(v)}
	}
	return trial{op: "StringNormalizer", opset: 10, attrs: attrs, in: fed(must(dtype.NewStrings(v, shape...)))}
}

func stringSplit(r *draw) trial {
	attrs := map[string]any{}
	if r.flag() {
		attrs["delimiter"] = pick(r, "", ",", "ab")
	}
	if r.flag() {
		attrs["maxsplit"] = r.between(0, 2)
	}
	v := make([]string, r.between(1, 4))
	for i := range v {
		v[i] = pick(r, "a b c", "a,b,,c", "x  y", "1ab2ab3", ",") // of empty strings, and blanks at the end, ONNX Runtime thinks otherwise
	}
	return trial{op: "StringSplit", opset: 20, attrs: attrs, in: fed(must(dtype.NewStrings(v, len(v)))), out: 2}
}

func wordCounts(r *draw) trial {
	attrs := map[string]any{"mode": pick(r, "TF", "IDF", "TFIDF"), "min_gram_length": r.between(1, 2), "max_gram_length": 2, "max_skip_count": r.between(0, 2),
		"ngram_counts": []int{0, 4}, "ngram_indexes": []int{0, 1, 2, 3, 4, 5, 6}, "pool_int64s": []int{2, 3, 5, 4, 5, 6, 7, 8, 6, 7}}
	if r.flag() {
		attrs["weights"] = []float32{1, 2, 3, 4, 5, 6, 7}
	}
	shape := r.shape(r.between(1, 2), 1, 8)
	return trial{op: "TfIdfVectorizer", opset: 9, attrs: attrs, in: fed(r.numbers(pick(r, dtype.Int32, dtype.Int64), 2, 8, shape...))}
}
