package pooling

//go:generate go run ../gen -part pooling -pkg pooling -out pooling_amd64.s -stubs pooling_amd64.go
