//go:build unix

package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

// FuzzModel makes models of what the operators declare, valid and nearly valid: attributes at bounds, ranks from 0 to
// 6, axes of length 0, inputs that are absent, of another type or read twice, bodies within bodies, functions, sequences, optionals. No such
// model may panic, take more than two seconds of processor time, half of it after its context has ended, or more memory than the budget; what loads is saved,
// and loads again the same; what runs gives the same numbers on Gorgonia's TapeMachine, or both refuse it.
func FuzzModel(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range len(operators) {
		tape := make([]byte, 200)
		for k := range tape {
			tape[k] = byte(r.Uint32())
		}
		tape[0], tape[1], tape[2] = 0, byte(i), byte(i>>8)
		f.Add(tape)
	}
	f.Fuzz(func(t *testing.T, tape []byte) {
		nn.LimitMemory(256 << 20)
		defer nn.LimitMemory(0)
		m := &modelMaker{tape: tape}
		b, err := proto.Marshal(m.make())
		if err != nil {
			t.Skip("not a model that a file can hold: ", err)
		}
		begin := spent(t)
		holdsUp(t, b)
		if took := spent(t) - begin; took > 2*time.Second {
			t.Errorf("took %v of processor time", took)
		}
	})
}

// TestFoundModels runs the models in which FuzzModel found faults, and some that are unlike the others, through the same checks.
func TestFoundModels(t *testing.T) {
	nn.LimitMemory(256 << 20)
	defer nn.LimitMemory(0)
	files, err := filepath.Glob("testdata/found/*.onnx")
	if err != nil || len(files) < 28 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			begin := spent(t)
			holdsUp(t, b)
			if took := spent(t) - begin; took > 2*time.Second {
				t.Errorf("took %v of processor time", took)
			}
		})
	}
}

// TestFewInputs runs the checks of FuzzModel on each operator without attributes, with no inputs to three that are one scalar, one vector, or one vector without elements.
func TestFewInputs(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of models")
	}
	nn.LimitMemory(256 << 20)
	defer nn.LimitMemory(0)
	for _, o := range operators {
		t.Run(o.Domain+"."+o.Name, func(t *testing.T) {
			for count := range 4 {
				for _, x := range []dtype.Value{scalar(float32(1)), list[float32](1, 2), list[float32](), scalar(int64(1)), list[int64](1, 2), list[int64]()} {
					c := trial{domain: o.Domain, op: o.Name, opset: o.Since[len(o.Since)-1]}
					for range count {
						c.in = append(c.in, argument{x, true})
					}
					holdsUp(t, c.model(t, &draw{Rand: rand.New(rand.NewPCG(1, 1))}))
					if count == 0 {
						break
					}
				}
			}
		})
	}
}

// spent returns the processor time of the process.
func spent(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// holdsUp checks what is claimed of any model.
func holdsUp(t *testing.T, b []byte) {
	g, err := onnxio.Read(bytes.NewReader(b))
	if err != nil {
		panics(t, err)
		return
	}
	var first, second bytes.Buffer
	if err := onnxio.Write(&first, g); err != nil {
		t.Fatalf("loads but is not saved: %v", err)
	}
	again, err := onnxio.Read(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatalf("is saved but does not load: %v", err)
	}
	if err := onnxio.Write(&second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatalf("a second time saved, other bytes: %v", err)
	}
	in := nn.Feed{}
	for i, v := range g.Inputs() {
		typ := v.Type()
		elem := typ
		for elem.Elem != nil {
			elem = *elem.Elem
		}
		shape := elem.Sizes()
		if elem.DType == dtype.String || len(shape) > 6 {
			return
		}
		for i, n := range shape {
			if n < 0 {
				shape[i] = 2
			}
			if n > 64 {
				return
			}
		}
		d := dtype.New(elem.DType, shape...)
		from := dtype.New(dtype.Float64, shape...)
		for k := range from.Size() {
			dtype.Slice[float64](from)[k] = float64(k%7)/2 - 1
		}
		if err := dtype.Convert(d, from); err != nil {
			t.Fatal(err)
		}
		switch typ.Kind {
		case op.Tensor:
			in[v.Name()] = d
		case op.Sequence:
			in[v.Name()] = &dtype.Sequence{Elem: elem.DType, Items: []dtype.Value{d, dtype.Clone(d)}}
		case op.Optional:
			if i%2 == 0 {
				in[v.Name()] = &dtype.Optional{Item: d}
			} // else left out
		default:
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	out, err := g.Eval(ctx, in)
	if errors.Is(err, context.DeadlineExceeded) {
		return // a Loop without an end; Gorgonia's machine would not stop at all
	}
	if err != nil {
		panics(t, err)
	}
	compareWithTape(t, b, g, in, out, err)
	for _, g := range []*nn.Graph{g, again} {
		bits(t, ctx, g, in, out, err)
	}
	trains(t, ctx, again, in)
}

// bits runs the graph once more: the same bits, or again an error.
func bits(t *testing.T, ctx context.Context, g *nn.Graph, in, out nn.Feed, refused error) {
	if l, err := g.Lower(nn.LowerOptions{}); err == nil && l.Key != nil {
		return
	}
	second, err := g.Eval(ctx, in)
	if ctx.Err() != nil {
		return
	}
	if (err == nil) != (refused == nil) {
		t.Fatalf("a first run: %v; a second: %v", refused, err)
	}
	for name, v := range out {
		a, ok := v.(*tensor.Dense)
		if b, dense := second[name].(*tensor.Dense); ok && dense && dtype.DTypeOf(a) != dtype.String && !bytes.Equal(dtype.Bytes(a), dtype.Bytes(b)) {
			t.Fatalf("output %s: %v, and in a second run %v", name, a, b)
		}
	}
}

// trains takes a training step of the sum of all outputs that are numbers.
func trains(t *testing.T, ctx context.Context, g *nn.Graph, in nn.Feed) {
	panics(t, changed{feed: in}.differentiate(ctx, g))
	for _, v := range g.Outputs() {
		if v.Name() == "the loss" {
			_, err := g.Step(ctx, in, nn.StepOptions{Loss: v, Train: true})
			panics(t, err)
		}
	}
}
