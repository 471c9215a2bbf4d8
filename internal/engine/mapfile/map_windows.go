package mapfile

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// load maps a view of the whole file. The view keeps the mapping, so its handle is closed.
func load(file *os.File, size int) ([]byte, error) {
	handle, err := windows.CreateFileMapping(windows.Handle(file.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	address, err := windows.MapViewOfFile(handle, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	if err != nil {
		err = os.NewSyscallError("MapViewOfFile", err)
	}
	if err = errors.Join(err, windows.CloseHandle(handle)); err != nil {
		return nil, err
	}
	// The view is no memory of Go's; the address is taken without the conversion that vet
	// takes for a mistake.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size), nil
}

// release takes the pages out of the working set: unlocking pages that are not locked does
// that, and says that they were not locked.
func release(data []byte) error {
	err := windows.VirtualUnlock(uintptr(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data)))
	if errors.Is(err, windows.ERROR_NOT_LOCKED) {
		return nil
	}
	return os.NewSyscallError("VirtualUnlock", err)
}

func unload(data []byte) error {
	return os.NewSyscallError("UnmapViewOfFile", windows.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(data)))))
}
