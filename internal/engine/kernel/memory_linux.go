package kernel

import (
	"syscall"
	"unsafe"
)

// adviseHuge asks for huge pages where fresh memory lies. Reading all weights
// for every token is bound by memory, and with 4 KiB pages by the walks of the
// page tables as well: a product with one token takes about a quarter longer.
//
// The range is rounded out to whole huge pages, so that matrices smaller than
// one, which lie beside each other, get them too. That also covers neighbours
// on the heap, which is harmless, as is a failure: it is a hint.
func adviseHuge(b []byte) {
	const huge = 2 << 20
	if len(b) < huge/16 {
		return
	}
	start := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	end := (start + uintptr(len(b)) + huge - 1) &^ (huge - 1)
	start &^= huge - 1
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_HUGEPAGE)
}
