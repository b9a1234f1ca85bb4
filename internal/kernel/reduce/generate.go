package reduce

//go:generate go run ../gen -part reduce -pkg reduce -out reduce_amd64.s -stubs reduce_amd64.go
