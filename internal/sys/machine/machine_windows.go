package machine

import (
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// memoryStatus is MEMORYSTATUSEX of the system's interface.
type memoryStatus struct {
	length, load                    uint32
	totalPhysical, freePhysical     uint64
	totalPageFile, freePageFile     uint64
	totalVirtual, freeVirtual, more uint64
}

func (f *Facts) ask() {
	s := memoryStatus{}
	s.length = uint32(unsafe.Sizeof(s))
	call := windows.NewLazySystemDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if call.Find() == nil {
		if ok, _, _ := call.Call(uintptr(unsafe.Pointer(&s))); ok != 0 {
			f.Memory, f.Available = int64(min(s.totalPhysical, 1<<60)), int64(min(s.freePhysical, 1<<60))
		}
	}
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `HARDWARE\DESCRIPTION\System\CentralProcessor\0`, registry.QUERY_VALUE)
	if err != nil {
		return
	}
	defer key.Close()
	f.Processor, _, _ = key.GetStringValue("ProcessorNameString") // unknown where it fails
}
