package elementwise

//go:generate go run ../gen -part elementwise -pkg elementwise -out elementwise_amd64.s -stubs elementwise_amd64.go
//go:generate go run ../gen -part functions -pkg elementwise -out functions_amd64.s -stubs functions_amd64.go
//go:generate go run ../gen-arm64 elementwise
