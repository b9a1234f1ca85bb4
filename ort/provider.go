package ort

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// provider is an execution provider: its name in the library, and the function that requests it.
type provider struct {
	name   string // in the list of those that the library has, without "ExecutionProvider"
	short  string // name for SessionOptionsAppendExecutionProvider; "": it has separate functions
	memory string // where its values are; "": in the CPU's memory
	device string // option that names the device; "": it has none
}

// known are the providers by the names that Runtime.Provider has for them.
var known = map[string]provider{
	"cpu":      {name: "CPU"},
	"cuda":     {name: "CUDA", memory: "Cuda", device: "device_id"},
	"tensorrt": {name: "Tensorrt", memory: "Cuda", device: "device_id"},
	"rocm":     {name: "ROCM", memory: "Hip", device: "device_id"},
	"openvino": {name: "OpenVINO"},
	"coreml":   {name: "CoreML", short: "CoreML"},
	"directml": {name: "Dml", short: "DML", device: "device_id"},
	"migraphx": {name: "MIGraphX", short: "MIGraphX", device: "device_id"},
	"qnn":      {name: "QNN", short: "QNN"},
	"webgpu":   {name: "WebGpu", short: "WebGPU"},
	"xnnpack":  {name: "Xnnpack", short: "XNNPACK"},
}

// Providers returns the possible values of Runtime.Provider.
func Providers() []string { return slices.Sorted(maps.Keys(known)) }

// providerOf returns the provider of a name; "" is the CPU's.
func providerOf(name string) (provider, error) {
	p, ok := known[strings.ToLower(cmp.Or(name, "cpu"))]
	if !ok {
		return p, fmt.Errorf("ort: provider %q: want one of %s", name, strings.Join(Providers(), ", "))
	}
	return p, nil
}

// among checks that the library has the provider.
func (p provider) among(have []string, library string) error {
	var names []string
	for _, n := range have {
		n = strings.TrimSuffix(n, "ExecutionProvider")
		if strings.EqualFold(n, p.name) {
			return nil
		}
		names = append(names, n)
	}
	return fmt.Errorf("ort: %s has no provider %s, it has %s: GRAFT_ORT names another library", library, p.name, strings.Join(names, ", "))
}
