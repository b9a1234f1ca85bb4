package vector

//go:generate go run ../gen -part vector -pkg vector -out vector_amd64.s -stubs vector_amd64.go
//go:generate go run ../gen-arm64 vector
