package kernel

//go:generate go run ./gen -out asm_amd64.s -stubs asm_amd64.go -pkg kernel
//go:generate go run ./gen -part blocks -out blockasm_amd64.s -stubs blockasm_amd64.go -pkg kernel
//go:generate go run ./gen -part conv -out convasm_amd64.s -stubs convasm_amd64.go -pkg kernel
//go:generate go run ./gen -part strides -out stridesasm_amd64.s -stubs stridesasm_amd64.go -pkg kernel
//go:generate go run ./gen -part winograd -out winograd_amd64.s -stubs winograd_amd64.go -pkg kernel
//go:generate go run ./gen -part depth -out depthasm_amd64.s -stubs depthasm_amd64.go -pkg kernel
//go:generate go run ./gen -part pool -out poolasm_amd64.s -stubs poolasm_amd64.go -pkg kernel
//go:generate go run ./gen -part norm -out normasm_amd64.s -stubs normasm_amd64.go -pkg kernel
//go:generate go run ./gen -part fused -out fusedasm_amd64.s -stubs fusedasm_amd64.go -pkg kernel
//go:generate go run ./gen-arm64
