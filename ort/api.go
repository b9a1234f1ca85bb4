//go:build linux || darwin || windows

package ort

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// minor is the version of the C API that is asked for, that of ONNX Runtime 1.14: the first that runs operator set 18.
const minor = 14

// handle is a pointer to one of the library's own structures.
type handle = uintptr

// api are the functions of the struct OrtApi that are used. The struct only ever grows at its end, so that a function's
// place is the same in each version that has it.
type api struct {
	getErrorMessage func(status handle) unsafe.Pointer
	releaseStatus   func(status handle)

	createEnv        func(level int32, id string, out *handle) handle
	disableTelemetry func(env handle) handle

	createSessionOptions  func(out *handle) handle
	setSeverity           func(options handle, level int32) handle
	setThreads            func(options handle, n int32) handle
	setOptimization       func(options handle, level int32) handle
	releaseSessionOptions func(options handle)

	createSession  func(env handle, model unsafe.Pointer, size uintptr, options handle, out *handle) handle
	inputCount     func(session handle, out *uintptr) handle
	outputCount    func(session handle, out *uintptr) handle
	inputName      func(session handle, i uintptr, allocator handle, out *unsafe.Pointer) handle
	outputName     func(session handle, i uintptr, allocator handle, out *unsafe.Pointer) handle
	releaseSession func(session handle)

	createRunOptions  func(out *handle) handle
	terminate         func(options handle) handle
	releaseRunOptions func(options handle)

	createBinding  func(session handle, out *handle) handle
	bindInput      func(binding handle, name string, value handle) handle
	bindOutput     func(binding handle, name string, memory handle) handle
	runWithBinding func(session, options, binding handle) handle
	boundOutputs   func(binding, allocator handle, out *unsafe.Pointer, count *uintptr) handle
	releaseBinding func(binding handle)

	createTensor     func(allocator handle, shape *int64, rank uintptr, dtype int32, out *handle) handle
	createTensorOver func(memory handle, data unsafe.Pointer, size uintptr, shape *int64, rank uintptr, dtype int32, out *handle) handle
	createValue      func(in *handle, n uintptr, kind int32, out *handle) handle
	hasValue         func(value handle, out *int32) handle
	valueType        func(value handle, out *int32) handle
	valueCount       func(value handle, out *uintptr) handle
	getValue         func(value handle, i int32, allocator handle, out *handle) handle
	tensorData       func(value handle, out *unsafe.Pointer) handle
	tensorInfo       func(value handle, out *handle) handle
	elementType      func(info handle, out *int32) handle
	rank             func(info handle, out *uintptr) handle
	dims             func(info handle, out *int64, n uintptr) handle
	releaseInfo      func(info handle)
	fillString       func(value handle, s string, i uintptr) handle
	stringLength     func(value handle, i uintptr, out *uintptr) handle
	stringElement    func(value handle, n, i uintptr, out unsafe.Pointer) handle
	releaseValue     func(value handle)

	createMemory  func(name string, allocator, id, memory int32, out *handle) handle
	releaseMemory func(memory handle)
	allocator     func(out *handle) handle
	free          func(allocator handle, p unsafe.Pointer) handle

	providers        func(out *unsafe.Pointer, n *int32) handle
	releaseProviders func(p unsafe.Pointer, n int32) handle
	append           func(options handle, name string, keys, values unsafe.Pointer, n uintptr) handle
	openVINO         func(options handle, keys, values unsafe.Pointer, n uintptr) handle
	cuda, rocm, trt  dedicated
}

// dedicated are the functions of a provider with its own structure of options.
type dedicated struct {
	create  func(out *handle) handle
	update  func(options handle, keys, values unsafe.Pointer, n uintptr) handle
	append  func(session, options handle) handle
	release func(options handle)
}

// entry is a function at its place in OrtApi.
type entry struct {
	name  string
	index int
	since int // version of the API that has it first, where it is later than minor
	call  any
}

func (a *api) entries() []entry {
	return []entry{
		{"GetErrorMessage", 2, 0, &a.getErrorMessage},
		{"CreateEnv", 3, 0, &a.createEnv},
		{"DisableTelemetryEvents", 6, 0, &a.disableTelemetry},
		{"CreateSessionFromArray", 8, 0, &a.createSession},
		{"CreateSessionOptions", 10, 0, &a.createSessionOptions},
		{"SetSessionLogSeverityLevel", 22, 0, &a.setSeverity},
		{"SetSessionGraphOptimizationLevel", 23, 0, &a.setOptimization},
		{"SetIntraOpNumThreads", 24, 0, &a.setThreads},
		{"SessionGetInputCount", 30, 0, &a.inputCount},
		{"SessionGetOutputCount", 31, 0, &a.outputCount},
		{"SessionGetInputName", 36, 0, &a.inputName},
		{"SessionGetOutputName", 37, 0, &a.outputName},
		{"CreateRunOptions", 39, 0, &a.createRunOptions},
		{"RunOptionsSetTerminate", 46, 0, &a.terminate},
		{"CreateTensorAsOrtValue", 48, 0, &a.createTensor},
		{"CreateTensorWithDataAsOrtValue", 49, 0, &a.createTensorOver},
		{"GetTensorMutableData", 51, 0, &a.tensorData},
		{"GetTensorElementType", 60, 0, &a.elementType},
		{"GetDimensionsCount", 61, 0, &a.rank},
		{"GetDimensions", 62, 0, &a.dims},
		{"GetTensorTypeAndShape", 65, 0, &a.tensorInfo},
		{"GetValueType", 67, 0, &a.valueType},
		{"CreateMemoryInfo", 68, 0, &a.createMemory},
		{"AllocatorFree", 76, 0, &a.free},
		{"GetAllocatorWithDefaultOptions", 78, 0, &a.allocator},
		{"GetValue", 80, 0, &a.getValue},
		{"GetValueCount", 81, 0, &a.valueCount},
		{"CreateValue", 82, 0, &a.createValue},
		{"ReleaseStatus", 93, 0, &a.releaseStatus},
		{"ReleaseMemoryInfo", 94, 0, &a.releaseMemory},
		{"ReleaseSession", 95, 0, &a.releaseSession},
		{"ReleaseValue", 96, 0, &a.releaseValue},
		{"ReleaseRunOptions", 97, 0, &a.releaseRunOptions},
		{"ReleaseTensorTypeAndShapeInfo", 99, 0, &a.releaseInfo},
		{"ReleaseSessionOptions", 100, 0, &a.releaseSessionOptions},
		{"GetAvailableProviders", 125, 0, &a.providers},
		{"ReleaseAvailableProviders", 126, 0, &a.releaseProviders},
		{"GetStringTensorElementLength", 127, 0, &a.stringLength},
		{"GetStringTensorElement", 128, 0, &a.stringElement},
		{"FillStringTensorElement", 129, 0, &a.fillString},
		{"RunWithBinding", 133, 0, &a.runWithBinding},
		{"CreateIoBinding", 134, 0, &a.createBinding},
		{"ReleaseIoBinding", 135, 0, &a.releaseBinding},
		{"BindInput", 136, 0, &a.bindInput},
		{"BindOutputToDevice", 138, 0, &a.bindOutput},
		{"GetBoundOutputValues", 140, 0, &a.boundOutputs},
		{"SessionOptionsAppendExecutionProvider_ROCM", 153, 0, &a.rocm.append},
		{"SessionOptionsAppendExecutionProvider_TensorRT_V2", 170, 0, &a.trt.append},
		{"CreateTensorRTProviderOptions", 171, 0, &a.trt.create},
		{"UpdateTensorRTProviderOptions", 172, 0, &a.trt.update},
		{"ReleaseTensorRTProviderOptions", 174, 0, &a.trt.release},
		{"HasValue", 192, 0, &a.hasValue},
		{"SessionOptionsAppendExecutionProvider_CUDA_V2", 204, 0, &a.cuda.append},
		{"CreateCUDAProviderOptions", 205, 0, &a.cuda.create},
		{"UpdateCUDAProviderOptions", 206, 0, &a.cuda.update},
		{"ReleaseCUDAProviderOptions", 208, 0, &a.cuda.release},
		{"SessionOptionsAppendExecutionProvider", 216, 0, &a.append},
		{"CreateROCMProviderOptions", 255, 15, &a.rocm.create},
		{"UpdateROCMProviderOptions", 256, 15, &a.rocm.update},
		{"ReleaseROCMProviderOptions", 258, 15, &a.rocm.release},
		{"SessionOptionsAppendExecutionProvider_OpenVINO_V2", 275, 17, &a.openVINO},
	}
}

// bind takes the functions out of a loaded library whose exported symbol OrtGetApiBase is at base.
func (l *library) bind(base uintptr) error {
	var getBase func() unsafe.Pointer
	purego.RegisterFunc(&getBase, base)
	b := getBase() // two functions: GetApi, GetVersionString
	if b == nil {
		return fmt.Errorf("OrtGetApiBase returns nothing")
	}
	first := (*[2]uintptr)(b)
	var getAPI func(version uint32) unsafe.Pointer
	var getVersion func() unsafe.Pointer
	purego.RegisterFunc(&getAPI, first[0])
	purego.RegisterFunc(&getVersion, first[1])
	l.version = goString(getVersion())
	asked := minor
	if parts := strings.Split(l.version, "."); len(parts) > 1 {
		if n, err := strconv.Atoi(parts[1]); err == nil && parts[0] == "1" {
			asked = max(asked, min(n, 17)) // the latest that any entry wants
		}
	}
	table := getAPI(uint32(asked))
	if table == nil {
		return fmt.Errorf("it is ONNX Runtime %s; want 1.%d or later", l.version, minor)
	}
	for _, e := range l.entries() {
		if e.since > asked {
			continue
		}
		f := *(*uintptr)(unsafe.Add(table, uintptr(e.index)*unsafe.Sizeof(base)))
		if f == 0 {
			return fmt.Errorf("ONNX Runtime %s has no %s", l.version, e.name)
		}
		purego.RegisterFunc(e.call, f)
	}
	return nil
}

// err is the error of a call, nil for success.
func (l *library) err(what string, status handle) error {
	if status == 0 {
		return nil
	}
	text := goString(l.getErrorMessage(status))
	l.releaseStatus(status)
	return fmt.Errorf("ort: %s: %s", what, plain(text))
}

// place matches what the library writes before some of its messages: the line of its source, a
// function, an error code and its name.
var place = regexp.MustCompile(`^/\S+:\d+ .*?\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : `)

// plain returns a message of the library in one line, without the place in its source.
func plain(text string) string {
	return place.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
}

// goString copies a string of C.
func goString(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// cStrings are strings of C, and the memory that must outlive their use.
func cStrings(list []string) (unsafe.Pointer, []*byte) {
	pointers := make([]*byte, len(list)+1)
	for i, s := range list {
		pointers[i] = &append([]byte(s), 0)[0]
	}
	return unsafe.Pointer(&pointers[0]), pointers
}
