package resample

//go:generate go run ../gen -part resample -pkg resample -out resample_amd64.s -stubs resample_amd64.go
