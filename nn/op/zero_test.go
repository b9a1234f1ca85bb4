package op

import (
	"context"
	"reflect"
	"runtime"
	"testing"
)

// TestZeroArguments calls functions and methods with zero values: an error or a documented panic, never an index out of range or a nil
// pointer.
func TestZeroArguments(t *testing.T) {
	for _, f := range []any{
		AtRun, Available, Backpropagate, Bind, Bodies, BroadcastDim, CallOf, CheckGradients, Children, Const, Constant, CopyKernel, CoupleAll, DependsOnMarked, Differentiable, Dims, DimsValue,
		Either, Elementwise, Emit, EmitInto, EmptyOptional, Encode, Eval, Fill, Formal, Input, IsConst, ItemOf, MapType, Near, Needs, NewSet, NodeType, On, OnEach,
		ParseDim, ParseInput, ParseType, Product, RangeFirst, RangeHull, RangeOf, Refuse, Same, Scalar, Shaped, Sibling, Sizes, T, TypeOf, TypeSince, Validate,
		ZeroAffine, ZeroAll, ZeroAny, ZeroFirst, ZeroLayer, ZeroParts,
	} {
		callZero(t, runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name(), reflect.ValueOf(f))
	}
	for _, v := range []any{
		new(Call), new(Error), new(Exec), new(Fused), new(Known), new(NeedError), new(Op), new(Operand), new(Part), new(Replacement), new(Resizing), new(Rewriter), new(Set), new(Slots), new(Traits),
		new(Type), new(Dim), new(Tally), new(Term), new(VersionError), new(Window), new(Name), new(Kind), new(InputRole), new(Plain), new(TrainingMode), new(Where), new(Scan), new(Item), new(Scope),
	} {
		for m := range reflect.TypeOf(v).NumMethod() {
			callZero(t, reflect.TypeOf(v).String()+"."+reflect.TypeOf(v).Method(m).Name, reflect.ValueOf(v).Method(m))
		}
	}
}

// callZero calls a function with nil pointers, and again with pointers to zero structs of this package.
func callZero(t *testing.T, name string, f reflect.Value) {
	t.Helper()
	for _, filled := range []bool{false, true} {
		var args []reflect.Value
		for k := range f.Type().NumIn() {
			in := f.Type().In(k)
			switch {
			case in == reflect.TypeFor[context.Context]():
				args = append(args, reflect.ValueOf(context.Background()))
			case filled && in.Kind() == reflect.Pointer && in.Elem().Kind() == reflect.Struct && in.Elem().PkgPath() == reflect.TypeFor[Op]().PkgPath():
				args = append(args, reflect.New(in.Elem()))
			default:
				args = append(args, reflect.Zero(in))
			}
		}
		if f.Type().IsVariadic() {
			args = args[:len(args)-1]
		}
		func() {
			defer func() {
				if err, ok := recover().(runtime.Error); ok {
					t.Errorf("%s, filled %v: %v", name, filled, err)
				}
			}()
			f.Call(args)
		}()
	}
}
