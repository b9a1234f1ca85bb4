package exprgraph

import (
	"reflect"
	"unsafe"

	"gorgonia.org/gorgonia"
)

// Children returns the inputs of a node, in order and with repetitions. They are read off the node itself: the graph's own index,
// which is the answer where the field is missing, is wrong after a node was removed, as Log(1+x) and Grad do.
func Children(n *gorgonia.Node) gorgonia.Nodes {
	v := reflect.ValueOf(n).Elem().FieldByName("children")
	if !v.IsValid() || v.Type() != reflect.TypeFor[gorgonia.Nodes]() {
		var list gorgonia.Nodes
		for it := n.Graph().From(n.ID()); it != nil && it.Next(); {
			list = append(list, it.Node().(*gorgonia.Node))
		}
		return list
	}
	list := make(gorgonia.Nodes, v.Len())
	for i := range list {
		list[i] = (*gorgonia.Node)(v.Index(i).UnsafePointer())
	}
	return list
}

// Name returns the name a program gave the node, empty if it gave none: Node.Name makes one up then.
func Name(n *gorgonia.Node) string {
	if v := reflect.ValueOf(n).Elem().FieldByName("name"); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

// nodeHash is where a Node keeps its hash, and whether it has one.
var nodeHash = func() (at struct{ hash, hashed uintptr }) {
	t := reflect.TypeFor[gorgonia.Node]()
	hash, ok := t.FieldByName("hash")
	hashed, also := t.FieldByName("hashed")
	if ok && also && hash.Type == reflect.TypeFor[uint32]() && hashed.Type == reflect.TypeFor[bool]() {
		at.hash, at.hashed = hash.Offset, hashed.Offset
	}
	return at
}()

// WithHash gives a node that is being made another hash than that of what it computes. Gorgonia takes two nodes for one if their hashes of 32 bits,
// operators, types and shapes are equal, whatever they read. It does nothing if Gorgonia keeps hashes elsewhere.
func WithHash(hash uint32) gorgonia.NodeConsOpt {
	return func(n *gorgonia.Node) {
		if nodeHash.hashed != 0 {
			*(*uint32)(unsafe.Add(unsafe.Pointer(n), nodeHash.hash)) = hash
			*(*bool)(unsafe.Add(unsafe.Pointer(n), nodeHash.hashed)) = true
		}
	}
}

// Into is where gorgonia.Read, which n was made by, wants the value; nil if n is no such node.
func Into(n *gorgonia.Node) *gorgonia.Value {
	v := reflect.ValueOf(n.Op())
	if v.Kind() != reflect.Struct {
		return nil
	}
	into := v.FieldByName("into")
	if into.Kind() != reflect.Pointer || into.Type() != reflect.TypeFor[*gorgonia.Value]() {
		return nil
	}
	return (*gorgonia.Value)(into.UnsafePointer())
}
