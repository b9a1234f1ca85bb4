package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train/table"
)

// The open inference protocol, version 2, over HTTP (github.com/kserve/open-inference-protocol).

// kserveTensor is an input or output of a request.
type kserveTensor struct {
	Name     string `json:"name"`
	Shape    []int  `json:"shape"`
	Datatype string `json:"datatype"`
	Data     any    `json:"data,omitempty"`
}

// kserveInput is an input of a request.
type kserveInput struct {
	Name     string          `json:"name"`
	Shape    kserveShape     `json:"shape"`
	Datatype string          `json:"datatype"`
	Data     json.RawMessage `json:"data"`
}

// kserveShape is the shape of an input, of at most maxRank axes.
type kserveShape []int

// UnmarshalJSON implements json.Unmarshaler.
func (s *kserveShape) UnmarshalJSON(b []byte) error {
	return decodeFew(b, maxRank, (*[]int)(s))
}

// kserveList is a list of inputs or outputs, which are fewer than a thousand.
type kserveList[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *kserveList[T]) UnmarshalJSON(b []byte) error {
	return decodeFew(b, 1000, (*[]T)(l))
}

// decodeFew decodes a list unless it is longer than most: small elements take many times the memory of their text.
func decodeFew[T any](b []byte, most int, to *[]T) error {
	if len(b) > 0 && b[0] == '[' {
		n := 0
		for range jsonValues(b) {
			if n++; n > most {
				return fmt.Errorf("a list of more than %d values", most)
			}
		}
	}
	return json.Unmarshal(b, to)
}

// modelVersion is the only version of a model.
const modelVersion = "1"

type kserveRequest struct {
	ID      string                  `json:"id"`
	Inputs  kserveList[kserveInput] `json:"inputs"`
	Outputs kserveList[struct {
		Name string `json:"name"`
	}] `json:"outputs"`
}

// datatypes are the protocol's names of element types.
var datatypes = map[dtype.DType]string{
	dtype.Bool: "BOOL", dtype.Uint8: "UINT8", dtype.Uint16: "UINT16", dtype.Uint32: "UINT32", dtype.Uint64: "UINT64",
	dtype.Int8: "INT8", dtype.Int16: "INT16", dtype.Int32: "INT32", dtype.Int64: "INT64",
	dtype.Float16: "FP16", dtype.Float32: "FP32", dtype.Float64: "FP64", dtype.BFloat16: "BF16", dtype.String: "BYTES",
}

// metadata returns the protocol's description of the model; a symbolic size is −1.
func (h *endpoint) metadata() map[string]any {
	list := func(values []*nn.Value) []kserveTensor {
		all := []kserveTensor{}
		for _, v := range values {
			t := kserveTensor{Name: v.Name(), Datatype: datatypes[v.Type().DType], Shape: []int{}}
			for _, d := range v.Type().Shape {
				if d.Known() {
					t.Shape = append(t.Shape, d.Size)
				} else {
					t.Shape = append(t.Shape, -1)
				}
			}
			all = append(all, t)
		}
		return all
	}
	return map[string]any{"name": h.name, "versions": []string{modelVersion}, "platform": "onnx_graft", "inputs": list(h.b.g.Inputs()), "outputs": list(h.b.g.Outputs())}
}

// infer answers a request of the protocol.
func (h *endpoint) infer(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Inference-Header-Content-Length") != "" {
		reply(w, nil, errors.New("the binary tensor extension of the protocol is not supported (GET /v2 lists the extensions): want data in JSON"))
		return
	}
	var q kserveRequest
	d := json.NewDecoder(r.Body)
	d.UseNumber()
	if err := d.Decode(&q); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the request has no body")
		}
		reply(w, nil, fmt.Errorf("not a request of the protocol: %w; want {\"inputs\":[{\"name\":…,\"shape\":…,\"datatype\":…,\"data\":…}]} with the inputs %v", plainError(err), ports(h.b.g.Inputs())))
		return
	}
	feed, n, err := h.inputs(q.Inputs)
	if err != nil {
		reply(w, nil, err)
		return
	}
	var wanted []string
	for _, o := range q.Outputs {
		if wanted = append(wanted, o.Name); !slices.Contains(h.b.names, o.Name) {
			reply(w, nil, fmt.Errorf("no output %q; the model has the outputs %s", o.Name, strings.Join(h.b.names, ", ")))
			return
		}
	}
	out, err := h.ask(r.Context(), feed, n)
	if err != nil {
		reply(w, nil, err)
		return
	}
	answer := map[string]any{"model_name": h.name, "outputs": outputsOf(out, h.b.names, wanted)}
	if q.ID != "" {
		answer["id"] = q.ID
	}
	reply(w, answer, nil)
}

// mostEmpty bounds the samples of an input without elements, whose number the size of the request does not bound.
const mostEmpty = 1 << 16

// inputs makes a feed of a request's tensors. n is the number of samples.
func (h *endpoint) inputs(list []kserveInput) (feed nn.Feed, n int, err error) {
	feed = nn.Feed{}
	_, columns, err := table.ReadMeta(h.b.g.Meta())
	if err != nil {
		return nil, 0, err
	}
	for k, t := range list {
		if !slices.ContainsFunc(h.b.g.Inputs(), func(v *nn.Value) bool { return v.Name() == t.Name }) {
			return nil, 0, fmt.Errorf("input %q: the model has the inputs %v", t.Name, ports(h.b.g.Inputs()))
		}
		if slices.ContainsFunc(list[:k], func(before kserveInput) bool { return before.Name == t.Name }) {
			return nil, 0, fmt.Errorf("input %q comes twice", t.Name)
		}
	}
	for _, v := range h.b.g.Inputs() {
		i := slices.IndexFunc(list, func(t kserveInput) bool { return t.Name == v.Name() })
		if i < 0 {
			return nil, 0, fmt.Errorf("the request lacks input %s; the model has the inputs %v", v.Name(), ports(h.b.g.Inputs()))
		}
		t := list[i]
		if want := datatypes[v.Type().DType]; t.Datatype != want {
			return nil, 0, fmt.Errorf("input %s: datatype %q, want %s", t.Name, t.Datatype, want)
		}
		flat := filler{of: v.Type().DType, gaps: columns}
		data, err := jsonValue(t.Data)
		if err == nil && len(t.Data) > 0 {
			if err = flat.reserve(data); err == nil {
				_, err = eachElement(data, flat.add)
			}
		}
		if err != nil {
			return nil, 0, fmt.Errorf("input %s: %w", t.Name, err)
		}
		x, err := flat.tensor(t.Shape...)
		if err != nil {
			return nil, 0, fmt.Errorf("input %s: %w", t.Name, err)
		}
		feed[t.Name] = x
		if len(t.Shape) > 0 {
			if flat.len() == 0 && t.Shape[0] > mostEmpty {
				return nil, 0, fmt.Errorf("input %s: the shape %v has %d samples without elements, want at most %d", t.Name, t.Shape, t.Shape[0], mostEmpty)
			}
			n = max(n, t.Shape[0])
		}
	}
	return feed, n, nil
}

// outputsOf returns a model's outputs in the form of the protocol: elements in row-major order, null for those that are not finite.
func outputsOf(out nn.Feed, names, wanted []string) []kserveTensor {
	var list []kserveTensor
	for _, name := range names {
		if len(wanted) > 0 && !slices.Contains(wanted, name) {
			continue
		}
		o := asObject(onnxio.NamedValue{Name: name, Value: out[name]})
		list = append(list, kserveTensor{Name: name, Shape: o.Shape, Datatype: datatypes[dtype.DTypeOf(out[name])], Data: o.Data})
	}
	return list
}
