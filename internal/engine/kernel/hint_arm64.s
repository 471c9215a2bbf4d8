#include "textflag.h"

// func Pause()
TEXT ·Pause(SB), NOSPLIT, $0-0
	YIELD
	RET

// func Prefetch(x []float32)
TEXT ·Prefetch(SB), NOSPLIT, $0-24
	MOVD x_base+0(FP), R0
	MOVD x_len+8(FP), R1
	ADD  R1<<2, R0, R1

next:
	CMP  R1, R0
	BGE  done
	PRFM (R0), PLDL1KEEP
	ADD  $64, R0
	B    next

done:
	RET
