package softmax

//go:generate go run ../gen -part softmax -pkg softmax -out softmax_amd64.s -stubs softmax_amd64.go
