package kernel

//go:generate go run ./gen -part pause -pkg kernel -out pause_amd64.s -stubs pause_amd64.go
//go:generate go run ./gen -part vector -pkg kernel -out vector_amd64.s -stubs vector_amd64.go
//go:generate go run ./gen -part elementwise -pkg kernel -out elementwise_amd64.s -stubs elementwise_amd64.go
//go:generate go run ./gen -part functions -pkg kernel -out functions_amd64.s -stubs functions_amd64.go
//go:generate go run ./gen -part gemm -pkg kernel -out gemm_amd64.s -stubs gemm_amd64.go
//go:generate go run ./gen -part gemmwide -pkg kernel -out gemmwide_amd64.s -stubs gemmwide_amd64.go
//go:generate go run ./gen -part peak -pkg kernel -out peak_amd64.s -stubs peak_amd64.go
//go:generate go run ./gen -part transpose -pkg kernel -out transpose_amd64.s -stubs transpose_amd64.go
//go:generate go run ./gen -part im2col -pkg kernel -out im2col_amd64.s -stubs im2col_amd64.go
//go:generate go run ./gen -part taps -pkg kernel -out taps_amd64.s -stubs taps_amd64.go
//go:generate go run ./gen -part convtile -pkg kernel -out convtile_amd64.s -stubs convtile_amd64.go
//go:generate go run ./gen -part depthwise -pkg kernel -out depthwise_amd64.s -stubs depthwise_amd64.go
//go:generate go run ./gen -part winograd -pkg kernel -out winograd_amd64.s -stubs winograd_amd64.go
//go:generate go run ./gen -part strides -pkg kernel -out strides_amd64.s -stubs strides_amd64.go
//go:generate go run ./gen -part pooling -pkg kernel -out pooling_amd64.s -stubs pooling_amd64.go
//go:generate go run ./gen -part norm -pkg kernel -out norm_amd64.s -stubs norm_amd64.go
//go:generate go run ./gen -part softmax -pkg kernel -out softmax_amd64.s -stubs softmax_amd64.go
//go:generate go run ./gen -part recurrent -pkg kernel -out recurrent_amd64.s -stubs recurrent_amd64.go
//go:generate go run ./gen -part reduce -pkg kernel -out reduce_amd64.s -stubs reduce_amd64.go
//go:generate go run ./gen -part resample -pkg kernel -out resample_amd64.s -stubs resample_amd64.go
//go:generate go run ./gen-arm64 pause vector elementwise gemm transpose taps convtile
