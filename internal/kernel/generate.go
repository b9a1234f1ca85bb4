package kernel

//go:generate go run ./gen -part pause -pkg kernel -out pause_amd64.s -stubs pause_amd64.go
//go:generate go run ./gen-arm64 pause
