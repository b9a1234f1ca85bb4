package kernel

//go:generate go run ./gen -out asm_amd64.s -stubs asm_amd64.go -pkg kernel
