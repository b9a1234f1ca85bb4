package op

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
)

func setDefault(v reflect.Value, f field) {
	if f.def == "" {
		return
	}
	switch v.Interface().(type) {
	case DType:
		d, err := dtype.Parse(f.def)
		if err != nil {
			panic("op: default of " + f.name + ": " + err.Error())
		}
		v.Set(reflect.ValueOf(d))
		return
	}
	switch v.Kind() {
	case reflect.Int:
		n, err := strconv.Atoi(f.def)
		mustTag(f, err)
		v.SetInt(int64(n))
	case reflect.Bool:
		v.SetBool(f.def == "1" || f.def == "true")
	case reflect.Float32:
		x, err := strconv.ParseFloat(f.def, 32)
		mustTag(f, err)
		v.SetFloat(x)
	case reflect.String:
		v.SetString(f.def)
	case reflect.Slice: // elements separated by |
		parts := strings.Split(f.def, "|")
		s := reflect.MakeSlice(v.Type(), len(parts), len(parts))
		for i, p := range parts {
			setDefault(s.Index(i), field{name: f.name, def: p})
		}
		v.Set(s)
	default:
		panic("op: attribute " + f.name + " cannot have a default")
	}
}

func mustTag(f field, err error) {
	if err != nil {
		panic("op: default of " + f.name + ": " + err.Error())
	}
}

func setAttr(v reflect.Value, a any) error {
	if v.Kind() == reflect.Pointer {
		p := reflect.New(v.Type().Elem())
		if err := setAttr(p.Elem(), a); err != nil {
			return err
		}
		v.Set(p)
		return nil
	}
	switch x := a.(type) {
	case int64:
		switch v.Kind() {
		case reflect.Int, reflect.Int32: // int32: DType
			if v.Kind() == reflect.Int32 && (x < 0 || x > math.MaxInt32) {
				return fmt.Errorf("%d is out of range", x)
			}
			v.SetInt(x)
			return nil
		case reflect.Bool:
			v.SetBool(x != 0)
			return nil
		}
	case float32:
		if v.Kind() == reflect.Float32 {
			v.SetFloat(float64(x))
			return nil
		}
		if n := int64(x); v.Kind() == reflect.Int && float32(n) == x { // Lp pools of version 1 have p = 2.0
			v.SetInt(n)
			return nil
		}
	case string:
		if v.Kind() == reflect.String {
			v.SetString(x)
			return nil
		}
		if d, ok := v.Addr().Interface().(*DType); ok { // version 1 of Cast has the name of the type
			t, err := dtype.Parse(x)
			*d = t
			return err
		}
	case []int64:
		switch d := v.Addr().Interface().(type) {
		case *[]int:
			*d = make([]int, len(x))
			for i, n := range x {
				(*d)[i] = int(n)
			}
			return nil
		case *[]float32: // an empty list has no type
			if len(x) == 0 {
				*d = []float32{}
				return nil
			}
		case *[]string:
			if len(x) == 0 {
				*d = []string{}
				return nil
			}
		}
	case []float32:
		if d, ok := v.Addr().Interface().(*[]float32); ok {
			*d = append([]float32{}, x...)
			return nil
		}
	case []string:
		if d, ok := v.Addr().Interface().(*[]string); ok {
			*d = append([]string{}, x...)
			return nil
		}
	case dtype.Value:
		if d, ok := v.Addr().Interface().(*dtype.Value); ok {
			*d = x
			return nil
		}
	case Subgraph:
		if d, ok := v.Addr().Interface().(*Subgraph); ok {
			*d = x
			return nil
		}
	case Type:
		if d, ok := v.Addr().Interface().(*Type); ok {
			*d = x
			return nil
		}
	}
	return fmt.Errorf("want %s, got %T", v.Type(), a)
}

// attrOf returns the value that a file stores for the field v of a configuration; nil: none.
func attrOf(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		return attrOf(v.Elem())
	}
	switch x := v.Interface().(type) {
	case []int:
		if x == nil {
			return nil
		}
		n := make([]int64, len(x))
		for i := range x {
			n[i] = int64(x[i])
		}
		return n
	case []float32:
		if x == nil {
			return nil
		}
		return x
	case []string:
		if x == nil {
			return nil
		}
		return x
	case dtype.Value:
		return x
	case Subgraph:
		return x
	case Type:
		if !x.Present() {
			return nil
		}
		return x
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int32:
		return v.Int()
	case reflect.Bool:
		if v.Bool() {
			return int64(1)
		}
		return int64(0)
	case reflect.Float32:
		return float32(v.Float())
	case reflect.String:
		return v.String()
	}
	return nil
}
