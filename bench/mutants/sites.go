package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// site is an expression and the change that is made to it.
type site struct {
	ID        int    `json:"-"`
	File      string `json:"file"` // base name
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Func      string `json:"func"`
	Source    string `json:"source"`
	Change    string `json:"change"`
	NoticedBy string `json:"noticed_by,omitempty"` // the package whose tests fail

	edits func(id int) []edit
}

func (s *site) String() string {
	return fmt.Sprintf("%s:%d:%d\t%s\t%s\t%s", s.File, s.Line, s.Column, s.Func, s.Change, strings.Join(strings.Fields(s.Source), " "))
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// finder collects the sites of a file.
type finder struct {
	*target
	name  string
	file  *ast.File
	fn    string
	bound int // depth of indices, slice bounds and heads of loops around the node
	drop  bool
	list  []*site
}

// sites lists every expression that the tests execute and that can be changed; with drop, statements and operands that can be left out, too.
func (p *target) sites(drop bool) []*site {
	var list []*site
	for _, name := range p.GoFiles {
		f := p.files[name]
		if generated.Match(p.source[name]) || linked(f) {
			continue
		}
		w := &finder{target: p, name: name, file: f, drop: drop}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				w.fn = fn.Name.Name
				ast.Walk(w, fn.Body)
			}
		}
		list = append(list, w.list...)
	}
	return list
}

// linked reports whether the file declares functions that are implemented elsewhere, in assembly.
func linked(f *ast.File) bool {
	return slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Body == nil
	})
}

// Visit adds the possible changes of n itself.
func (w *finder) Visit(n ast.Node) ast.Visitor {
	if w.drop {
		w.omit(n)
	}
	switch n := n.(type) {
	case *ast.BinaryExpr:
		w.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.NOT && w.variable(n) {
			w.wrap(n, "! dropped", "mutantNot(%d, ")
		}
	case *ast.IfStmt:
		w.condition(n)
	case *ast.AssignStmt:
		w.assignment(n)
	case *ast.IncDecStmt:
		op, to := token.ADD, "++ → --"
		if n.Tok == token.DEC {
			op, to = token.SUB, "-- → ++"
		}
		if t := w.number(n.X); t != "" {
			x := w.text(n.X)
			w.add(n.TokPos, n, to, func(id int) []edit {
				return []edit{w.swap(n.TokPos, 2, fmt.Sprintf(" = %s[%s](%d, %s, 1)", arithmetic[op], t, id, x))}
			})
		}
	case *ast.BasicLit:
		w.literal(n)
	case *ast.CallExpr:
		if i := w.speedOnly(n); i >= 0 {
			ast.Walk(w, n.Fun)
			for k, a := range n.Args {
				if k != i {
					ast.Walk(w, a)
				}
			}
			return nil
		}
	case *ast.IndexExpr:
		ast.Walk(w, n.X)
		return w.bounded(n.Index)
	case *ast.SliceExpr:
		ast.Walk(w, n.X)
		return w.bounded(n.Low, n.High, n.Max)
	case *ast.ForStmt:
		w.bounded(n.Init, n.Cond, n.Post)
		ast.Walk(w, n.Body)
		return nil
	case *ast.RangeStmt:
		w.bounded(n.X)
		ast.Walk(w, n.Body)
		return nil
	}
	return w
}

// omit adds what can be left out at n: the statements of a block, an operand of a condition, a branch.
func (w *finder) omit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BlockStmt:
		w.statements(n.List)
	case *ast.CaseClause:
		w.statements(n.Body)
	case *ast.CommClause:
		w.statements(n.Body)
	case *ast.BinaryExpr:
		neutral := map[token.Token]string{token.LAND: "mutantTrue(%d, ", token.LOR: "mutantFalse(%d, "}[n.Op]
		if neutral != "" && w.variable(n) {
			w.wrap(n.X, "operand dropped", neutral)
			w.wrap(n.Y, "operand dropped", neutral)
		}
	case *ast.IfStmt:
		if n.Else == nil {
			w.wrap(n.Cond, "never", "mutantFalse(%d, ")
		}
	}
}

func (w *finder) statements(list []ast.Stmt) {
	for _, n := range list {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
		default:
			continue
		}
		w.add(n.Pos(), n, "dropped", func(id int) []edit {
			return []edit{w.open(n, fmt.Sprintf("if !mutant(%d) { ", id)), w.close(n, " }")}
		})
	}
}

// speedOnly returns the argument of a call that cannot change what is computed, -1 if there is none: the capacity of a
// slice, and the parameter named grain by which a method divides work among threads.
func (w *finder) speedOnly(n *ast.CallExpr) int {
	f := w.info.Types[n.Fun]
	if id, ok := n.Fun.(*ast.Ident); ok && f.IsBuiltin() && id.Name == "make" && len(n.Args) == 3 {
		return 2
	}
	if sig, ok := f.Type.(*types.Signature); ok {
		for i := range sig.Params().Len() {
			if sig.Params().At(i).Name() == "grain" {
				return i
			}
		}
	}
	return -1
}

// bounded visits nodes in which integer literals are positions or counts.
func (w *finder) bounded(list ...ast.Node) ast.Visitor {
	w.bound++
	for _, n := range list {
		if n != nil && !isNil(n) {
			ast.Walk(w, n)
		}
	}
	w.bound--
	return nil
}

func isNil(n ast.Node) bool {
	switch n := n.(type) {
	case ast.Expr:
		return n == nil
	case ast.Stmt:
		return n == nil
	}
	return false
}

var arithmetic = map[token.Token]string{token.ADD: "mutantAdd", token.SUB: "mutantSub", token.MUL: "mutantMul", token.QUO: "mutantQuo"}

var order = map[token.Token]string{token.LSS: "mutantLess", token.LEQ: "mutantLessEqual", token.GTR: "mutantGreater", token.GEQ: "mutantGreaterEqual"}

var opposite = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
}

func (w *finder) binary(n *ast.BinaryExpr) {
	if !w.variable(n) {
		return
	}
	to := fmt.Sprintf("%s → %s", n.Op, opposite[n.Op])
	call := func(name string) func(id int) []edit {
		return func(id int) []edit {
			return []edit{w.open(n, fmt.Sprintf("%s(%d, ", name, id)), w.swap(n.OpPos, len(n.Op.String()), ","), w.close(n, ")")}
		}
	}
	switch {
	case arithmetic[n.Op] != "":
		if t := w.number(n); t != "" {
			w.add(n.OpPos, n, to, call(arithmetic[n.Op]+"["+t+"]"))
		}
	case order[n.Op] != "":
		if t := w.ordered(n.X, n.Y); t != "" {
			w.add(n.OpPos, n, to, call(order[n.Op]+"["+t+"]"))
		}
	case n.Op == token.EQL || n.Op == token.NEQ:
		w.wrap(n, to, "mutantNot(%d, ")
	case n.Op == token.LAND || n.Op == token.LOR:
		name := map[token.Token]string{token.LAND: "mutantAnd", token.LOR: "mutantOr"}[n.Op]
		w.add(n.OpPos, n, to, func(id int) []edit {
			return []edit{w.open(n, fmt.Sprintf("%s(%d, ", name, id)), w.swap(n.OpPos, 2, ", func() bool { return ("), w.close(n, ") })")}
		})
	}
}

// condition negates conditions that have no operator to change, and drops refusals.
func (w *finder) condition(n *ast.IfStmt) {
	switch ast.Unparen(n.Cond).(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr:
	default:
		w.wrap(n.Cond, "negated", "mutantNot(%d, ")
	}
	if len(n.Body.List) != 1 || n.Else != nil {
		return
	}
	ret, ok := n.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) == 0 {
		return
	}
	if w.drop { // as the branch
		return
	}
	last := w.info.Types[ret.Results[len(ret.Results)-1]]
	if last.Type == nil || last.IsNil() || !types.AssignableTo(last.Type, types.Universe.Lookup("error").Type()) {
		return
	}
	w.add(ret.Pos(), ret, "refusal dropped", func(id int) []edit {
		return []edit{w.open(n.Cond, fmt.Sprintf("mutantFalse(%d, ", id)), w.close(n.Cond, ")")}
	})
}

func (w *finder) assignment(n *ast.AssignStmt) {
	op := map[token.Token]token.Token{token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB, token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO}[n.Tok]
	if arithmetic[op] == "" {
		return
	}
	t, x := w.number(n.Lhs[0]), w.text(n.Lhs[0])
	if t == "" {
		return
	}
	w.add(n.TokPos, n, fmt.Sprintf("%s= → %s=", op, opposite[op]), func(id int) []edit {
		return []edit{w.swap(n.TokPos, 2, fmt.Sprintf("= %s[%s](%d, %s,", arithmetic[op], t, id, x)), w.close(n.Rhs[0], ")")}
	})
}

// literal changes a bound by one: zero upwards, others alternately up and down.
func (w *finder) literal(n *ast.BasicLit) {
	if n.Kind != token.INT || w.bound == 0 {
		return
	}
	t := w.number(n)
	if t == "" {
		return
	}
	name, to := "mutantUp", n.Value+" → "+n.Value+"+1"
	if n.Value != "0" && len(w.list)%2 == 0 {
		name, to = "mutantDown", n.Value+" → "+n.Value+"-1"
	}
	w.wrap(n, to, name+"["+t+"](%d, ")
}

// wrap changes n by a call around it.
func (w *finder) wrap(n ast.Expr, change, format string) {
	if t := w.info.Types[n].Type; t == nil || strings.HasPrefix(format, "mutantNot") && !types.AssignableTo(types.Typ[types.Bool], t) && t != types.Typ[types.UntypedBool] {
		return
	}
	w.add(n.Pos(), n, change, func(id int) []edit {
		return []edit{w.open(n, fmt.Sprintf(format, id)), w.close(n, ")")}
	})
}

func (w *finder) add(pos token.Pos, n ast.Node, change string, edits func(id int) []edit) {
	if !w.executed(pos) {
		return
	}
	at := w.fset.Position(pos)
	w.list = append(w.list, &site{File: filepath.Base(at.Filename), Line: at.Line, Column: at.Column, Func: w.fn, Source: w.text(n), Change: change, edits: edits})
}

func (w *finder) text(n ast.Node) string {
	return string(bytes.TrimSpace(w.source[w.name][w.offset(n.Pos()):w.offset(n.End())]))
}

func (w *finder) offset(p token.Pos) int { return w.fset.Position(p).Offset }

// variable reports whether an expression is computed when the program runs.
func (w *finder) variable(e ast.Expr) bool { return w.info.Types[e].Value == nil }

// number spells the type of an expression of numbers; "" where it has another, or one that the file cannot name.
func (w *finder) number(e ast.Expr) string {
	t := w.info.Types[e].Type
	if id, ok := e.(*ast.Ident); ok && t == nil && w.info.Uses[id] != nil {
		t = w.info.Uses[id].Type()
	}
	if t == nil {
		return ""
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsNumeric == 0 {
		return ""
	}
	return w.spell(t)
}

// ordered spells the type of two operands, of which one may be a constant without a type.
func (w *finder) ordered(x, y ast.Expr) string {
	for _, e := range []ast.Expr{x, y} {
		t := w.info.Types[e].Type
		if b, ok := t.(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
			return w.spell(t)
		}
	}
	return ""
}

func (w *finder) spell(t types.Type) string {
	known := true
	s := types.TypeString(t, func(p *types.Package) string {
		if p == w.types {
			return ""
		}
		for _, i := range w.file.Imports {
			if strings.Trim(i.Path.Value, `"`) == p.Path() {
				if i.Name != nil {
					return i.Name.Name
				}
				return p.Name()
			}
		}
		known = false
		return p.Name()
	})
	if !known || strings.Contains(s, "untyped") {
		return ""
	}
	return s
}
