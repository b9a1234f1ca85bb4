package convolution

//go:generate go run ../gen -part im2col -pkg convolution -out im2col_amd64.s -stubs im2col_amd64.go
//go:generate go run ../gen -part taps -pkg convolution -out taps_amd64.s -stubs taps_amd64.go
//go:generate go run ../gen -part convtile -pkg convolution -out convtile_amd64.s -stubs convtile_amd64.go
//go:generate go run ../gen -part depthwise -pkg convolution -out depthwise_amd64.s -stubs depthwise_amd64.go
//go:generate go run ../gen -part winograd -pkg convolution -out winograd_amd64.s -stubs winograd_amd64.go
//go:generate go run ../gen -part strides -pkg convolution -out strides_amd64.s -stubs strides_amd64.go
//go:generate go run ../gen-arm64 taps convtile
