package generate

import (
	"path"
	"reflect"
	"runtime"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/safetensors"
	"gorgonia.org/tensor"
)

// symbol is a declaration that generated source refers to. Package paths are taken from the types that this package is
// compiled with, so that only names are written here.
type symbol struct{ pkg, name string }

// of returns the symbol of a type.
func of[T any]() symbol { return symbolOf(reflect.TypeFor[T]()) }

func symbolOf(t reflect.Type) symbol { return symbol{t.PkgPath(), t.Name()} }

// in returns a function of the package that a type belongs to.
func in[T any](name string) symbol { return symbol{reflect.TypeFor[T]().PkgPath(), name} }

// The declarations that generated source uses besides layers, attributes and initial values, whose symbols are derived
// from their types.
var (
	symGraph      = of[nn.Graph]()
	symEdit       = of[nn.Edit]()
	symValue      = of[nn.Value]()
	symFunc       = of[nn.LayerFunc]()
	symSequential = of[nn.Sequential]()
	symOp         = of[nn.OpLayer]()
	symNew        = in[nn.Graph]("New")
	symNewGraph   = in[nn.Graph]("NewGraph")
	symConstant   = in[nn.Graph](strings.ToUpper(string(nn.Constant[:1])) + string(nn.Constant[1:]))
	symTensor     = in[dtype.DType]("FromSlice")
	symPlain      = of[op.Plain]()
	symName       = of[op.Name]()
	symOperators  = symbolOfFunc(std.Operators)
	symContrib    = symbolOfFunc(contrib.With)
	symNewValue   = in[dtype.DType]("New")
	symDense      = of[tensor.Dense]()
	symLoad       = symbolOfFunc(safetensors.Load)
)

// symbolOfFunc returns the symbol of a function.
func symbolOfFunc(f any) symbol {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	i := strings.LastIndexByte(name, '.')
	return symbol{name[:i], name[i+1:]}
}

// qualifier returns the name of a package in generated source.
func qualifier(pkg string) string { return path.Base(pkg) }
