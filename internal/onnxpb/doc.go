// Package onnxpb holds the Go types of the ONNX file format, generated from graft_onnx.proto.
//
// The schema has ONNX's message names, field numbers and types, in a separate protobuf
// package: two packages that register the same protobuf names cannot be linked into one program, and
// a program may use another ONNX library beside this one. The names do not appear in files.
//
// Presence of optional fields, and fields that the schema does not know, are preserved by decoding and encoding.
package onnxpb

//go:generate sh -c "protoc --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --go_out=. --go_opt=paths=source_relative graft_onnx.proto"
