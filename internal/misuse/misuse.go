// Package misuse calls everything that the module exports with zero values: an error or a documented panic, never an
// index out of range or a nil pointer. It has tests only.
package misuse

//go:generate sh -c "go run ./gen ../.. > list_test.go"
