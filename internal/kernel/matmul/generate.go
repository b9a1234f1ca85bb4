package matmul

//go:generate go run ../gen -part gemm -pkg matmul -out gemm_amd64.s -stubs gemm_amd64.go
//go:generate go run ../gen -part gemmwide -pkg matmul -out gemmwide_amd64.s -stubs gemmwide_amd64.go
//go:generate go run ../gen-arm64 gemm
