package kerneltest

//go:generate go run ../gen -part peak -pkg kerneltest -out peak_amd64.s -stubs peak_amd64.go
