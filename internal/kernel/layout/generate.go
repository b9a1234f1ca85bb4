package layout

//go:generate go run ../gen -part transpose -pkg layout -out transpose_amd64.s -stubs transpose_amd64.go
//go:generate go run ../gen-arm64 transpose
