package norm

//go:generate go run ../gen -part norm -pkg norm -out norm_amd64.s -stubs norm_amd64.go
