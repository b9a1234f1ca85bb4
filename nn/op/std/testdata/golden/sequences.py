"""Sequences, optionals, maps and strings."""
import re

import golden
from golden import *

KEPT = {"SequenceConstruct", "SequenceAt", "SequenceInsert", "SequenceErase", "ConcatFromSequence", "SplitToSequence", "Optional"}


def case(op, *ins, **k):
    """Containers keep their element type: there is no other precision to compare with."""
    if op in KEPT:
        k.update(nolow="a container keeps its type", nograd="a container keeps its type", nowide="a container keeps its type")
    golden.case(op, *ins, **k)


def run():
    a, b = some(2, 3), some(1, 3, seed=2)
    for t in ["float32", "float64", "int64", "uint8", "bool", "string", "float16", "bfloat16"]:
        c = lambda x: convert(x, t) if t != "float32" else x
        seq = [c(a), c(b)]
        case("SequenceConstruct", *seq, ref=lambda *v: seq)
        case("SequenceAt", seq, scalar(-1), ref=lambda *v: seq[1])
        case("SequenceInsert", seq, c(b), scalar(1), ref=lambda *v: [seq[0], seq[1], seq[1]])
        case("SequenceErase", seq, scalar(0), ref=lambda *v: [seq[1]])
        case("SequenceLength", seq, ref=lambda *v: scalar(2))
        case("ConcatFromSequence", seq, axis=0, ref=lambda *v, axis: Tensor(np.concatenate([seq[0].data, seq[1].data]), seq[0].type))
        case("SplitToSequence", c(a), ints(1, 2), axis=1, ref=lambda *v, axis: [Tensor(seq[0].data[:, :1], seq[0].type), Tensor(seq[0].data[:, 1:], seq[0].type)])
        case("Optional", c(a), ref=lambda *v: {"optional": c(a)})
        case("OptionalGetElement", {"optional": c(a)}, ref=lambda *v: c(a))
        case("OptionalHasElement", {"optional": c(a)}, ref=lambda *v: Tensor(np.array(True)))
        case("SequenceEmpty", dtype=CODES[t], ref=lambda **k: {"elem": t})
        case("ArrayFeatureExtractor", c(some(2, 4)), ints(3, 0, 3), domain="ai.onnx.ml", opset=1, ref=lambda x, i: Tensor(c(some(2, 4)).data[:, [3, 0, 3]], c(a).type))
    case("SequenceAt", [a, b], tensor(0, "int32"), ref=lambda *v: a)
    case("SequenceInsert", [a], b, ref=lambda *v: [a, b])
    case("SequenceInsert", [a, b], b, tensor(-2, "int32"), ref=lambda *v: [b, a, b])
    case("SequenceErase", [a, b], ref=lambda *v: [a])
    case("SequenceErase", [a, b, a], tensor(-2, "int32"), ref=lambda *v: [a, a])
    case("ConcatFromSequence", [a, a, a], axis=-1, new_axis=1, ref=lambda *v, **k: Tensor(np.stack([a.data] * 3, -1)))
    case("ConcatFromSequence", [a, a], axis=1, ref=lambda *v, **k: Tensor(np.concatenate([a.data] * 2, 1)))
    cut = lambda i, k, d=1: Tensor(a.data[:, i:k])
    case("SplitToSequence", a, scalar(2), axis=1, ref=lambda *v, axis: [cut(0, 2), cut(2, 3)])
    case("SplitToSequence", a, tensor(2, "int32"), axis=-1, ref=lambda *v, axis: [cut(0, 2), cut(2, 3)])
    case("SplitToSequence", a, axis=1, ref=lambda *v, axis: [cut(i, i + 1) for i in range(3)])
    case("SplitToSequence", a, axis=1, keepdims=0, ref=lambda *v, **k: [Tensor(a.data[:, i]) for i in range(3)])
    case("SplitToSequence", a, keepdims=0, ref=lambda *v, **k: [Tensor(a.data[i]) for i in range(2)])
    case("OptionalHasElement", {"optional": None, "elem": "float32"}, ref=lambda *v: Tensor(np.array(False)))
    case("OptionalHasElement", ref=lambda *v: Tensor(np.array(False)), opset=18)
    case("OptionalHasElement", a, ref=lambda *v: Tensor(np.array(True)), opset=18)
    case("Optional", [a, b], ref=lambda *v: {"optional": [a, b]})
    case("OptionalGetElement", {"optional": [a, b]}, ref=lambda *v: [a, b])
    case("OptionalGetElement", [a, b], ref=lambda *v: [a, b], opset=18)
    words()


def words():
    s = lambda *v: Tensor(np.array(v, object), "string")
    x, full = s("a b  c", "Dee", "", "ä,b,,c"), s("a b  c", "Dee", "ä,b,,c")
    case("StringConcat", x, s("!"))
    case("StringConcat", Tensor(np.array([["a"], ["b"]], object)), s("x", "", "z"))
    case("StringSplit", x, out=2)
    case("StringSplit", full, out=2, delimiter=",")
    case("StringSplit", full, out=2, delimiter=" ", maxsplit=1)
    case("StringSplit", Tensor(np.array([["a-b"], ["c-d-e"]], object)), out=2, delimiter="-", maxsplit=1)
    case("StringSplit", s("a  b c d"), out=2, maxsplit=2)
    for pattern in ["[a-c ]+", "D.*", "", "(a|Dee)"]:
        case("RegexFullMatch", x, pattern=pattern, ref=lambda x, pattern: np.array([re.fullmatch(pattern, v) is not None for v in x]))
    t = s("Monday", "tuesday", "WEDNESDAY", "Thursday")
    for action in ["NONE", "LOWER", "UPPER"]:
        for strict, stop in [(1, "Monday"), (0, "monday")]:
            change = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}[action]
            case("StringNormalizer", t, case_change_action=action, is_case_sensitive=strict, stopwords=[stop], locale="en_US", ref=lambda x, change=change, **k: s(*[change(v) for v in x[1:]]))
    case("StringNormalizer", Tensor(np.array([["Monday", "x"]], object)), is_case_sensitive=1, stopwords=["x"])
    case("StringNormalizer", s("a", "b"), is_case_sensitive=1, stopwords=["a", "b"])
    case("StringNormalizer", t)
    grams = dict(max_gram_length=2, min_gram_length=1, max_skip_count=1, ngram_counts=[0, 3], ngram_indexes=[0, 2, 1, 4, 3])
    row, rows = ints(2, 5, 3, 7, 2, 3), tensor([[2, 5, 3], [7, 2, 3]], "int64")
    pool = [2, 3, 5, 2, 3, 7, 2]
    for mode in ["TF", "IDF", "TFIDF"]:
        case("TfIdfVectorizer", row, mode=mode, pool_int64s=pool, weights=[0.5, 2.0, 1.5, 3.0, 0.7], **grams)
        case("TfIdfVectorizer", rows, mode=mode, pool_int64s=pool, **grams)
    case("TfIdfVectorizer", tensor(row.data, "int32"), mode="TF", pool_int64s=pool, **grams)
    case("TfIdfVectorizer", row, mode="TF", pool_int64s=pool, **{**grams, "min_gram_length": 2, "max_skip_count": 2})
    case("TfIdfVectorizer", s("a", "b", "a", "c", "b"), mode="TF", pool_strings=["a", "b", "c", "a", "c", "b", "b"], **grams)
