package recurrent

//go:generate go run ../gen -part recurrent -pkg recurrent -out recurrent_amd64.s -stubs recurrent_amd64.go
