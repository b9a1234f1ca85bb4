package budget

import (
	"math"
	"unsafe"

	"golang.org/x/sys/windows"
)

// allowedMemory returns how many bytes the machine, or the job of the process, has for it: memory and page file.
func allowedMemory() int64 {
	n := int64(math.MaxInt64)
	status := struct { // MEMORYSTATUSEX
		length, load                                               uint32
		physical, _, pageFile, _, virtual, availableVirtual, extra uint64
	}{}
	status.length = uint32(unsafe.Sizeof(status))
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ok, _, _ := call.Call(uintptr(unsafe.Pointer(&status))); ok != 0 && status.pageFile > 0 {
		n = int64(min(status.pageFile, math.MaxInt64))
	}
	var job windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if windows.QueryInformationJobObject(0, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&job)), uint32(unsafe.Sizeof(job)), nil) == nil {
		flags := job.BasicLimitInformation.LimitFlags
		if flags&windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY != 0 {
			n = min(n, int64(min(uint64(job.ProcessMemoryLimit), math.MaxInt64)))
		}
		if flags&windows.JOB_OBJECT_LIMIT_JOB_MEMORY != 0 {
			n = min(n, int64(min(uint64(job.JobMemoryLimit), math.MaxInt64)))
		}
	}
	return n
}
